"""Every page by its address."""

from __future__ import annotations

from probewise.server.site import Way

PAGES: tuple[Way, ...] = ()

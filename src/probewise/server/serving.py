"""Serving: the loop that runs an application until it is told to end."""

from __future__ import annotations

import logging
import signal
import sys
from types import FrameType

from probewise.errors import InvalidServer, MissingExtra
from probewise.server.config import Config

GRACE = 15
"""Seconds in which requests that are under way may end."""


def serve(config: Config) -> None:
    """Run a server until it is interrupted; requests under way are finished, and browsers that watch are told."""
    try:
        import uvicorn

        from probewise.server.app import App, app
    except ImportError as error:
        raise MissingExtra(f"serving needs {error.name}; install probewise[server].") from None

    class Serving(uvicorn.Server):
        """A server that first lets go of the browsers that watch."""

        own: App

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            self.own.stop()
            self.force_exit = self.should_exit and sig == signal.SIGINT
            self.should_exit = True

    _log()
    own = app(config)
    settings = uvicorn.Config(
        own.asgi,
        host=config.host,
        port=config.port,
        ssl_certfile=config.certificate,
        ssl_keyfile=config.key,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=65_536,
    )
    server = Serving(settings)
    server.own = own
    try:
        server.run()
    except SystemExit:
        raise InvalidServer(
            f"{config.host}:{config.port} cannot be listened on; another program may do so, so choose another --port."
        ) from None
    except OSError as error:
        raise InvalidServer(f"the server cannot start: {error.strerror or error}.") from None


def _log() -> None:
    """One line of JSON for each request, on standard error; uvicorn says only what goes wrong."""
    logger = logging.getLogger("probewise.server")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    other = logging.getLogger("uvicorn.error")
    other.handlers, other.propagate = [handler], False
    other.setLevel(logging.WARNING)

"""Promises: what all contracts check in the same way."""

from __future__ import annotations

from collections.abc import Iterable


def expect(kept: bool, promise: str) -> None:
    """AssertionError with the promise as its sentence, if it is not kept."""
    if not kept:
        raise AssertionError(f"{promise}.")


def expect_texts(owner: object, names: Iterable[str]) -> None:
    """Each of these is a text that says something."""
    for name in names:
        text = getattr(owner, name, None)
        expect(isinstance(text, str) and text != "", f"{name} must be a text, got {text!r}")


def expect_settings(own: object, kind: str) -> None:
    """It is a frozen dataclass."""
    parameters = getattr(type(own), "__dataclass_params__", None)
    expect(parameters is not None and parameters.frozen, f"{kind} must be a frozen dataclass of its settings")

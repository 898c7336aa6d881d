"""Extensions: what other packages add under a name, by entry points that are loaded only when the name is used."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from probewise.errors import InvalidExtension


def extensions(group: str) -> list[str]:
    """The names that packages installed here add to a group such as "probewise.algorithms"; none is loaded."""
    return sorted(entry_points(group=group).names)


def extension(group: str, name: str) -> Any | None:
    """What a package installed here adds to the group under that name; None if none does."""
    found = {point.value: point for point in entry_points(group=group, name=name)}
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found.values())))
        raise InvalidExtension(f"'{name}' of {group} is added by {packages}, so that it has no meaning; remove one.")
    for point in found.values():
        try:
            return point.load()
        except Exception as error:
            raise fault(group, name, f"it cannot be loaded ({type(error).__name__}: {error})") from error
    return None


def fault(group: str, name: str, what: str) -> InvalidExtension:
    """What is said of an extension that is not what it must be."""
    packages = " and ".join(sorted(set(map(_package, entry_points(group=group, name=name)))))
    return InvalidExtension(f"'{name}' of {group}, from {packages}: {what}; mend that package or remove it.")


def _package(point: EntryPoint) -> str:
    return "a package without a name" if point.dist is None else f"the package {point.dist.name}"

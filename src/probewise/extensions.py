"""Extensions: what other packages add under a name, by entry points that are loaded only when the name is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from probewise.errors import InvalidExtension

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

T = TypeVar("T")


class Registry(Mapping[str, type[T]]):
    """Classes by their names, each loaded when it is looked up, so that a command loads no more than it uses."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """``places``: name -> module and class, as in "probewise.algorithms.rage.Rage"."""
        self.places = dict(places)

    def __getitem__(self, name: str) -> type[T]:
        module, _, called = self.places[name].rpartition(".")
        found: type[T] = getattr(import_module(module), called)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def called(self, name: str) -> type[T]:
        """The class that calls itself so in Python, for the module that exports it; AttributeError if there is none."""
        for key, place in self.places.items():
            if place.rpartition(".")[2] == name:
                return self[key]
        raise AttributeError(f"there is no {name!r} here")


def extensions(group: str) -> list[str]:
    """The names that packages installed here add to a group such as "probewise.algorithms"; none is loaded."""
    return sorted(entry_points(group=group).names)


def extension(group: str, name: str) -> Any | None:
    """What a package installed here adds to the group under that name; None if none does."""
    found = {point.value: point for point in entry_points(group=group, name=name)}
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found.values())))
        raise InvalidExtension(f"'{name}' of {group} is added by {packages}, so it is ambiguous; remove one of them.")
    for point in found.values():
        try:
            return point.load()
        except Exception as error:
            raise fault(group, name, f"it cannot be loaded ({type(error).__name__}: {error})") from error
    return None


def found_class(registry: Mapping[str, type[T]], group: str, name: str, base: type[T]) -> type[T] | None:
    """The class of that name, of the registry or of another package; None if there is none."""
    if name in registry:
        return registry[name]
    own = extension(group, name)
    if own is None:
        return None
    fits = isinstance(own, type) and issubclass(own, base) and is_dataclass(own)
    if not fits:
        raise fault(group, name, f"it must be a dataclass derived from {base.__name__}, got {own!r:.80}")
    called = getattr(own, "name", None)
    if called != name:
        raise fault(group, name, f"its class calls itself {called!r:.80}, and the names must agree")
    found: type[T] = own
    return found


def fault(group: str, name: str, what: str) -> InvalidExtension:
    """What is said of an extension that is not what it must be."""
    packages = " and ".join(sorted(set(map(_package, entry_points(group=group, name=name)))))
    return InvalidExtension(f"'{name}' of {group}, from {packages}: {what}; fix that package or remove it.")


def entry_points(group: str, name: str | None = None) -> EntryPoints:
    """What packages installed here add to a group, all of it or under one name."""
    from importlib import metadata  # slow to load, and seldom needed

    found = metadata.entry_points(group=group)
    return found if name is None else found.select(name=name)


def _package(point: EntryPoint) -> str:
    return "a package without a name" if point.dist is None else f"the package {point.dist.name}"

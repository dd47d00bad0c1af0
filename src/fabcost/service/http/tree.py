"""What is at a path: a tree of segments, one dictionary look-up for each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 256


class Found(NamedTuple, Generic[T]):
    """What is at a path by method, and the parameters in the path."""

    values: dict[str, T]
    parameters: dict[str, str]


class _Node(Generic[T]):
    """A place in the tree: fixed segments below it, else one parameter, or all the rest."""

    __slots__ = ("below", "parameter", "rest", "values")

    def __init__(self) -> None:
        self.values: dict[str, T] = {}
        self.below: dict[str, _Node[T]] = {}
        self.parameter: tuple[str, _Node[T]] | None = None
        self.rest: tuple[str, _Node[T]] | None = None

    def at(self, segment: str) -> _Node[T]:
        """The node below for a segment of a template."""
        if not segment.startswith("{"):
            return self.below.setdefault(segment, _Node())
        name, _, converter = segment.strip("{}").partition(":")
        if converter == "path":
            self.rest = self.rest or (name, _Node())
            return self.rest[1]
        self.parameter = self.parameter or (name, _Node())
        return self.parameter[1]


class Tree(Generic[T]):
    """Values by method and path; ``{name}`` is a segment, ``{name:path}`` all the rest.

    Examples
    --------
    >>> tree = Tree([("GET", "/v1/items/{item:path}", "an item"), ("GET", "/v1/items", "all")])
    >>> tree.find("/v1/items/cars/ad-1")
    Found(values={'GET': 'an item'}, parameters={'item': 'cars/ad-1'})
    >>> tree.find("/v1/nothing") is None
    True
    """

    def __init__(self, entries: Iterable[tuple[str, str, T]]) -> None:
        self._root: _Node[T] = _Node()
        for method, path, value in entries:
            node = self._root
            for segment in path.split("/")[1:]:
                node = node.at(segment)
            node.values[method] = value
        self._remembered = lru_cache(maxsize=_MOST_REMEMBERED)(self._find)

    def find(self, path: str) -> Found[T] | None:
        """What is at a path, if anything is; not to be changed."""
        return self._remembered(path) if len(path) <= _LONGEST_REMEMBERED else self._find(path)

    def _find(self, path: str) -> Found[T] | None:
        node, parameters = self._root, dict[str, str]()
        segments = path.split("/")
        for place in range(1, len(segments)):
            segment = segments[place]
            if segment in node.below:
                node = node.below[segment]
            elif node.parameter is not None and segment:
                parameters[node.parameter[0]] = segment
                node = node.parameter[1]
            elif node.rest is not None:
                parameters[node.rest[0]] = "/".join(segments[place:])
                node = node.rest[1]
                break
            else:
                return None
        return Found(node.values, parameters) if node.values else None

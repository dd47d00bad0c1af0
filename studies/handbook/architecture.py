"""The rooms of the house as they are: layers of the contracts, arrows of the import graph."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).resolve().parents[2]
THE_WHOLE = "Each layer imports only the layers below it"
THE_SERVICE = "The service reads from top to bottom"

Edge = tuple[str, str]
WIDTH, BOX, HEIGHT, GAP = 760, 130, 34, 40
#: The tip of the arrows, once on a page with pictures.
TIP = (
    '<svg width="0" height="0" aria-hidden="true"><defs><marker id="tip" viewBox="0 0 8 8" '
    'refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker></defs></svg>'
)


class Place(NamedTuple):
    """Where the box of a room is: its middle, and its upper edge."""

    x: float
    y: float


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom in the sources."""
    return grimp.build_graph("fabcost", cache_dir=None)


def layers(contract: str) -> list[list[str]]:
    """The rooms of a layer contract in pyproject.toml, from the top.

    Examples
    --------
    >>> layers(THE_WHOLE)[-1]
    ['fabcost.kernels']
    """
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (found,) = (
        each for each in written["tool"]["importlinter"]["contracts"] if each["name"] == contract
    )
    return [[room.strip() for room in layer.split("|")] for layer in found["layers"]]


def imports(rooms: list[str]) -> set[Edge]:
    """Which of the rooms has a module that imports one of which other.

    Examples
    --------
    >>> imports(["fabcost.gaussian", "fabcost.kernels"])
    {('fabcost.gaussian', 'fabcost.kernels')}
    """
    home = {module: _home(module, rooms) for module in graph().modules}
    found = {
        (home[module], home[other])
        for module in graph().modules
        for other in graph().find_modules_directly_imported_by(module)
    }
    return {(a, b) for a, b in found if a is not None and b is not None and a != b}


def without_implied(edges: set[Edge]) -> set[Edge]:
    """The edges that do not follow from two others.

    Examples
    --------
    >>> sorted(without_implied({("a", "b"), ("b", "c"), ("a", "c")}))
    [('a', 'b'), ('b', 'c')]
    """
    below = {a: set(_below(a, edges)) for a, _ in edges}
    return {
        (a, b)
        for a, b in edges
        if not any(b in below.get(other, ()) for start, other in edges if start == a)
    }


def picture(contract: str) -> str:
    """The rooms of a contract as SVG, each layer a row, with arrows to what they import."""
    rows = layers(contract)
    places = _places(rows)
    edges = without_implied(imports([room for row in rows for room in row]))
    arrows = [_arrow(a, b, places) for a, b in sorted(edges)]
    boxes = [box(room, place) for room, place in places.items()]
    return svg(WIDTH, len(rows) * (HEIGHT + GAP), contract, [*arrows, *boxes])


def table() -> str:
    """The rooms of both pictures with what their docstrings say of them."""
    return "\n".join(["| room | |", "| --- | --- |", *_rows(THE_WHOLE), *_rows(THE_SERVICE)])


def svg(width: float, height: float, title: str, parts: list[str]) -> str:
    """A picture of parts on one line of HTML; colours are those of docs/style.css."""
    start = f'<svg class="house" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{title}"'
    return "".join([f'{start} style="max-width: {width:g}px">', *parts, "</svg>"])


def box(room: str, place: Place) -> str:
    """A room as a box with its name."""
    left = place.x - BOX / 2
    return (
        f'<g data-room="{room}"><rect x="{left:g}" y="{place.y:g}" width="{BOX}" '
        f'height="{HEIGHT}" rx="6"/><text x="{place.x:g}" y="{place.y + 22:g}">'
        f"{short(room)}</text></g>"
    )


def short(room: str) -> str:
    """A room without what all have in front.

    Examples
    --------
    >>> short("fabcost.service.store"), short("fabcost.wire"), short("fabcost.service.service")
    ('store', 'wire', 'service')
    """
    return room.removeprefix("fabcost.").removeprefix("service.")


def _home(module: str, rooms: list[str]) -> str | None:
    return next((room for room in rooms if f"{module}.".startswith(f"{room}.")), None)


def _below(start: str, edges: set[Edge]) -> Iterator[str]:
    for a, b in edges:
        if a == start:
            yield b
            yield from _below(b, edges)


def _places(rows: list[list[str]]) -> dict[str, Place]:
    """Rows of boxes, alone in the middle or side by side."""
    return {
        room: Place(WIDTH / 2 + (at - (len(row) - 1) / 2) * 1.7 * BOX, n * (HEIGHT + GAP) + 4)
        for n, row in enumerate(rows)
        for at, room in enumerate(row)
    }


def _arrow(a: str, b: str, places: dict[str, Place]) -> str:
    """Straight to the next layer; around what lies between to those further down."""
    start, end = places[a], places[b]
    top, bottom = start.y + HEIGHT, end.y
    between = [at for at in places.values() if top <= at.y < bottom]
    hit = any(abs(at.x - (start.x + end.x) / 2) < BOX * 0.7 for at in between)
    aside = _side(start, end) if between and hit else (start.x + end.x) / 2
    middle = (top + bottom) / 2
    path = f"M{start.x:g} {top:g} Q{aside:g} {middle:g} {end.x:g} {bottom - 5:g}"
    if aside != (start.x + end.x) / 2:
        path = (
            f"M{start.x:g} {top:g} C{aside:g} {top + GAP:g} {aside:g} {bottom - GAP:g} "
            f"{end.x:g} {bottom - 5:g}"
        )
    return f'<path class="arrow" data-from="{a}" data-to="{b}" d="{path}"/>'


def _side(start: Place, end: Place) -> float:
    outwards = 1 if start.x + end.x >= WIDTH else -1
    far = max(abs(start.x - WIDTH / 2), abs(end.x - WIDTH / 2)) + 1.1 * BOX
    return WIDTH / 2 + outwards * min(far, WIDTH / 2)


def _rows(contract: str) -> Iterator[str]:
    for room in (room for layer in layers(contract) for room in layer):
        said = (importlib.import_module(room).__doc__ or "").strip().partition("\n")[0]
        yield f"| `{room}` | {said} |"

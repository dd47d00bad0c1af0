"""Static files, read once when the routes are made."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the page: its bytes, its media type, and a tag that changes with its bytes.

    Examples
    --------
    >>> Asset(b"body {}", "text/css; charset=utf-8", '"1f"').tag
    '"1f"'
    """

    content: bytes
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 if the browser has it already; it must ask each time."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def read_assets() -> dict[str, Asset]:
    """All files of the page by name.

    Examples
    --------
    >>> read_assets()["index.html"].media_type
    'text/html; charset=utf-8'
    """
    folder = files("fabcost.service.dashboard").joinpath("static")
    kinds = {each: _TYPES.get(each.name.rpartition(".")[2]) for each in folder.iterdir()}
    return {each.name: _asset(each.read_bytes(), kind) for each, kind in kinds.items() if kind}


def _asset(content: bytes, media_type: str) -> Asset:
    return Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def routes() -> list[Route]:
    """``/`` for the page and ``/dashboard/{name}`` for what it loads.

    Examples
    --------
    >>> [route.path for route in routes()]
    ['/', '/dashboard/{name}']
    """
    assets = read_assets()

    async def page(request: Request) -> Response:
        return assets["index.html"].answer(request)

    async def part(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in assets:
            return PlainTextResponse(f"the dashboard has no file {name!r}\n", status_code=404)
        return assets[name].answer(request)

    return [Route("/", page), Route("/dashboard/{name}", part)]

"""Pages of other origins: which may ask, and what their browsers are told of it (CORS)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabcost.service.http.exchange import Header, HttpAnswer, RefusedError

#: Any page; written in place of origins.
EVERYONE = "*"
_VARY: Header = (b"vary", b"Origin")
_EXPOSED: Header = (b"access-control-expose-headers", b"retry-after, x-request-id")
#: Browsers ask again after so long, at the latest.
_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, ocp-apim-subscription-key, x-api-key, x-request-id",
    ),
    (b"access-control-max-age", b"7200"),
)


class Cors:
    """Lets pages of some origins read what is answered.

    Examples
    --------
    >>> cors = Cors(["https://shop.example"])
    >>> cors.headers({b"origin": b"https://shop.example"})[0]
    (b'access-control-allow-origin', b'https://shop.example')
    >>> cors.headers({b"origin": b"https://evil.example"})
    ((b'vary', b'Origin'),)
    """

    def __init__(self, origins: Iterable[str]) -> None:
        known = [origin.lower().encode() for origin in origins]
        allow = b"access-control-allow-origin"
        self._known = {origin: ((allow, origin), _VARY, _EXPOSED) for origin in known}
        self._others: tuple[Header, ...] = self._known.get(EVERYONE.encode(), (_VARY,))

    def allows(self, origin: bytes) -> bool:
        """Whether pages of this origin may ask."""
        return origin in self._known or EVERYONE.encode() in self._known

    def headers(self, asked: Mapping[bytes, bytes]) -> tuple[Header, ...]:
        """What is added to every answer, errors too; ``asked`` are the headers of the request."""
        return self._known.get(asked.get(b"origin", b""), self._others)

    def preflight(self, method: str, asked: Mapping[bytes, bytes]) -> HttpAnswer | None:
        """What a browser is told that asks whether it may ask; None if that is not asked."""
        origin = asked.get(b"origin")
        if method != "OPTIONS" or origin is None or b"access-control-request-method" not in asked:
            return None
        if not self.allows(origin):
            message = f"{origin.decode('latin-1')} is not among the origins in cors_origins"
            raise RefusedError(403, "forbidden", message)
        return HttpAnswer(204, b"", headers=_PREFLIGHT)

"""Between calls and httpx: what a request looks like, and what its failure means."""

from __future__ import annotations

from typing import Any

import httpx

from fabcost.client.call import Reply
from fabcost.client.errors import ClientError
from fabcost.client.exchange import Lost, Send

#: Failures before a single byte of the request has left.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: A server that is there answers a connection at once, however long it takes for the rest.
_CONNECT_SECONDS = 10.0


class Address:
    """Where a server is, and the key that opens it; the key is never shown.

    Examples
    --------
    >>> address = Address("http://127.0.0.1:8000/", "fc_1_secret")
    >>> address
    Address('http://127.0.0.1:8000')
    >>> Address("127.0.0.1:8000", None)
    Traceback (most recent call last):
    ValueError: base_url is '127.0.0.1:8000' but must begin with http:// or https://
    """

    def __init__(self, base_url: str, key: str | None) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {base_url!r} but must begin with http:// or https://")
        self.base_url = base_url.rstrip("/")
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}

    def __repr__(self) -> str:
        return f"Address({self.base_url!r})"

    def request(self, step: Send) -> dict[str, Any]:
        """The arguments of httpx's ``build_request``."""
        call = step.call
        headers = self._headers
        if call.content is not None:
            headers = {**headers, "content-type": call.media}
        return {
            "method": call.method,
            "url": self.base_url + call.path,
            "params": dict(call.query),
            "content": call.content,
            "headers": headers,
            "timeout": httpx.Timeout(step.timeout, connect=min(step.timeout, _CONNECT_SECONDS)),
        }


def reply_of(response: httpx.Response, content: bytes) -> Reply:
    """The answer without httpx.

    Examples
    --------
    >>> reply_of(httpx.Response(204, headers={"X-Request-Id": "r-17"}), b"")
    Reply(status=204, headers={'x-request-id': 'r-17'}, content=b'')
    """
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, content)


def lost(error: httpx.TransportError) -> Lost:
    """What a broken connection means.

    Examples
    --------
    >>> lost(httpx.ReadTimeout("")), lost(httpx.ConnectError("refused"))
    (Lost(sent=True, why='ReadTimeout'), Lost(sent=False, why='ConnectError: refused'))
    """
    kind, why = type(error).__name__, str(error)
    return Lost(not isinstance(error, _UNSENT), f"{kind}: {why}" if why else kind)


def broken(error: httpx.TransportError) -> ClientError:
    """A stream that ended too soon, which nobody can repeat from the middle.

    Examples
    --------
    >>> broken(httpx.ReadError("")).code
    'interrupted'
    """
    return ClientError("interrupted", f"the answer broke off ({lost(error).why})")

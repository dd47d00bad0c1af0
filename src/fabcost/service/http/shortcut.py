"""What is asked most often, answered without a task of its own."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

from fabcost.service.http.answer import encode
from fabcost.service.http.fastpath import Send
from fabcost.service.http.headers import head_of_json, request_id
from fabcost.service.http.native import Native
from fabcost.service.http.problem import problem_body, refusal
from fabcost.service.http.site import Site
from fabcost.service.http.tree import Tree

#: An operation, and the parameters in the path.
Place = tuple[Native, dict[str, str]]


class Shortcut:
    """Answers by operations that can begin without waiting.

    Parameters
    ----------
    site
        What routes work with.
    tree
        The native API, by method and path.
    """

    def __init__(self, site: Site, tree: Tree[Native]) -> None:
        self._site = site
        self._tree = tree

    def find(self, method: bytes, url: bytes) -> Place | None:
        """Where such requests are answered, if they are answered here."""
        if method != b"POST" or b"%" in url or b"?" in url or not url.isascii():
            return None
        found = self._tree.find(url.decode())
        native = None if found is None else found.values.get("POST")
        if found is None or native is None or not native.can_begin:
            return None
        return native, found.parameters

    def begin(
        self, place: Place, headers: list[tuple[bytes, bytes]], content: bytes, send: Send
    ) -> bool:
        """Begin to answer; False if this request must go through the gate, which will refuse it."""
        started, site = perf_counter(), self._site
        if site.in_flight >= site.settings.requests_in_flight:
            return False
        native, parameters = place
        named = dict(headers)
        identity = request_id(named.get(b"x-request-id"))
        finish = partial(self._finish, native.route, identity, started, send)
        site.in_flight += 1
        try:
            native.begin(named, parameters, content, finish)
        except Exception:  # noqa: BLE001 - errors change nothing, and the gate will meet it again
            site.in_flight -= 1
            return False
        return True

    def _finish(self, route: str, identity: bytes, started: float, send: Send, result: Any) -> None:
        self._site.in_flight -= 1
        if isinstance(result, Exception):
            error = refusal(result)
            body = problem_body(error, identity)
            head = head_of_json(error.status, identity, len(body), error.headers)
            status = error.status
        else:
            body, status = encode(result), 200
            head = head_of_json(status, identity, len(body))
        send(head, body)
        self._site.told(identity, "POST", route, status, perf_counter() - started)

"""A connection that loses answers."""

from __future__ import annotations

import httpx
import numpy as np


class Losing(httpx.BaseTransport):
    """Hands requests on to the server, and loses some before and some answers after."""

    def __init__(self, seed: int, share: float) -> None:
        self._inner = httpx.HTTPTransport()
        self._rng = np.random.default_rng(seed)
        self._share = share
        self.lost = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        fate = self._rng.random()
        if fate < self._share / 2:
            self.lost += 1
            raise httpx.ConnectError("lost on the way there")
        response = self._inner.handle_request(request)
        if fate < self._share:
            self.lost += 1
            response.read()
            response.close()
            raise httpx.ReadTimeout("lost on the way back")
        return response

    def close(self) -> None:
        self._inner.close()

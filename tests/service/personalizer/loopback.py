"""A real server on loopback that asks for keys, for clients that are not ours."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal

from fabcost.service.http.app import Application
from fabcost.service.http.auth import new_key
from fabcost.service.processes import address_of, bind
from fabcost.service.server import Server, configuration, warm_up
from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.service.store.store import store_at
from fabcost.service.telemetry import logger
from fabcost.wire.messages import DecisionView


class Loopback(NamedTuple):
    """Where the server is, keys that open it, and the service to look into."""

    portal: BlockingPortal
    service: Service
    database: Path
    address: str
    key: str
    key_of_news: str

    def endpoint(self, model: str) -> str:
        return f"{self.address}/tenants/acme/models/{model}"

    def decision(self, model: str, event: str) -> DecisionView:
        return self.portal.call(self.service.decision, model, event)

    def impressions(self, model: str) -> int:
        return self.service.model(model).impressions


@contextlib.contextmanager
def loopback(database: Path) -> Iterator[Loopback]:
    settings = Settings(auth="on", log_level="error")
    row, key = new_key("all", ["admin"], None, now=0.0)
    row_of_news, key_of_news = new_key("news", ["decide", "feedback"], "news", now=0.0)
    with start_blocking_portal() as portal, bind("127.0.0.1", 0) as bound:
        portal.call(warm_up)
        service = portal.call(Service.start, lambda: store_at(str(database)))
        for each in (row, row_of_news):
            portal.call(service.insert_key, each)
        app = Application(service, settings, logger("error", "json"), asks_for_keys=True)
        portal.call(app.site.access.reread_keys)
        listening = threading.Event()
        server = Server(configuration(app, settings), listening.set)
        served = portal.start_task_soon(partial(server.serve, sockets=[bound]))
        assert listening.wait(300)
        yield Loopback(portal, service, database, address_of(bound), key, key_of_news)
        server.should_exit = True
        served.result()
        portal.call(service.stop)

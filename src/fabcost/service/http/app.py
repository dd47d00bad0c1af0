"""The application: every route behind one gate."""

from __future__ import annotations

import msgspec
from structlog.typing import FilteringBoundLogger

from fabcost.service import dashboard, personalizer
from fabcost.service.http.gate import Gate
from fabcost.service.http.mounts import Contract, Pages
from fabcost.service.http.native import Native
from fabcost.service.http.openapi import document
from fabcost.service.http.site import Site
from fabcost.service.http.table import table
from fabcost.service.service import Service
from fabcost.service.settings import Settings


def application(
    service: Service, settings: Settings, log: FilteringBoundLogger, *, asks_for_keys: bool
) -> Gate:
    """The ASGI application of a service.

    Keys are read by ``site.reread_keys`` of the result, which whoever serves it must call.
    """
    operations = table(settings)
    written = msgspec.json.encode(document(operations))
    site = Site(service, settings, log, asks_for_keys=asks_for_keys, document=written)
    contract = personalizer.routes(service, create_models=settings.create_personalizer_models)
    return Gate(
        site,
        [Native(each, site) for each in operations],
        Contract(contract, site),
        Pages(dashboard.routes(), site),
    )

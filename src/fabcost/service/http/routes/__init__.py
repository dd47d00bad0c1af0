"""The native API: each module has its bodies, its handlers and their declarations.

A handler's docstring is the description of its operation in the OpenAPI document.
"""

from fabcost.service.http.openapi import Operation
from fabcost.service.http.routes import decisions, models, server
from fabcost.service.settings import Settings


def operations(settings: Settings) -> list[Operation]:
    """Every operation, with bodies bounded by the settings."""
    return [
        *models.operations(settings),
        *decisions.operations(settings),
        *models.operations_on_files(),
        *server.operations(),
    ]

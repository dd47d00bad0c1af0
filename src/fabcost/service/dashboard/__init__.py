"""The dashboard: one page of static files, which asks the native API for all it shows."""

from fabcost.service.dashboard.files import routes

__all__ = ["routes"]

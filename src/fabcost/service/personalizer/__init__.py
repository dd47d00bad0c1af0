"""Rank, Reward and Activate as the clients of Azure AI Personalizer speak them."""

from fabcost.service.personalizer.errors import error_body, unauthorised_body
from fabcost.service.personalizer.paths import is_personalizer_path, model_of, role_of
from fabcost.service.personalizer.requests import MAY_MAKE
from fabcost.service.personalizer.routes import routes

__all__ = [
    "MAY_MAKE",
    "error_body",
    "is_personalizer_path",
    "model_of",
    "role_of",
    "routes",
    "unauthorised_body",
]

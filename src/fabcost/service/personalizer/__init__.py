"""Rank, Reward and Activate as the clients of Azure AI Personalizer speak them.

`parse` says what a path is about, once: whoever lets requests in asks it for the model and the
role that a key must have, and `Personalizer` for the answer.  Nothing here knows HTTP servers.
"""

from fabcost.service.personalizer.contract import ContractPath, ContractRequest, parse, refused
from fabcost.service.personalizer.events import Personalizer

__all__ = ["ContractPath", "ContractRequest", "Personalizer", "parse", "refused"]

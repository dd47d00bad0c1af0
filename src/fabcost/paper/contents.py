"""The parts of the paper that are reproduced, in its order, and its errata."""

from __future__ import annotations

from fabcost.paper.engine.units import Unit
from fabcost.paper.errata import errata
from fabcost.paper.parts import clicks, convergence, costs, posteriors

PARTS = (posteriors.PART, convergence.PART, costs.PART, clicks.PART)
ERRATA = Unit("errata", errata.demonstrate, weight=3.0)

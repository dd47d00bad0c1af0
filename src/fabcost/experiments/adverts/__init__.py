"""A site that sells used cars: real or made-up adverts, simulated visitors and clicks."""

from fabcost.experiments.adverts.environment import CarAdverts, Visitor, adverts
from fabcost.experiments.adverts.files import load
from fabcost.experiments.adverts.synthetic import synthetic
from fabcost.experiments.adverts.table import Advert, Adverts
from fabcost.experiments.adverts.tastes import schema

__all__ = ["Advert", "Adverts", "CarAdverts", "Visitor", "adverts", "load", "schema", "synthetic"]

"""A site that sells used cars: real or made-up adverts, simulated visitors and clicks."""

from fabcost.worlds.adverts import Advert, Adverts, load, synthetic
from fabcost.worlds.visitors import CarAdverts, Visitor, adverts, schema

__all__ = ["Advert", "Adverts", "CarAdverts", "Visitor", "adverts", "load", "schema", "synthetic"]

"""Logs of decisions to files and back: JSON Lines, Parquet, and what Vowpal Wabbit reads."""

from fabcost.service.transfer.log import export, load

__all__ = ["export", "load"]

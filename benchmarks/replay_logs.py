"""Real logs for the replay, in the directory that FABCOST_DATA names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from fabcost.experiments.replay.log import ReplayLog, Source, encode, read_log, read_source

CAMPAIGNS = ("all", "men", "women")


def data_directory() -> Path:
    """The directory of the data, or the end of the program."""
    named = os.environ.get("FABCOST_DATA")
    if not named or not Path(named).is_dir():
        sys.exit(
            f"FABCOST_DATA is {named!r} but must name the directory that has bank_marketing, "
            "online_shoppers and open_bandit"
        )
    return Path(named)


def bank_marketing(data: Path) -> ReplayLog:
    """Calls of a bank: did the client subscribe?  The duration is only known afterwards."""
    path = data / "bank_marketing" / "bank-additional-full.csv.gz"
    return read_log(path, "y", drop=["duration"])


def online_shoppers(data: Path) -> ReplayLog:
    """Visits to a shop: did one end in a purchase?  PageValues nearly reads the outcome out."""
    path = data / "online_shoppers" / "online_shoppers_intention.csv.gz"
    return read_log(path, "Revenue", drop=["PageValues"])


def open_bandit(data: Path, campaign: str) -> ReplayLog:
    """Impressions of a campaign of ZOZOTOWN under a uniform policy, and their clicks.

    Each impression has its user features and position, and the features of the item that was
    shown, looked up by item_id in item_context.csv.  The rest is dropped: index, timestamp,
    item_id itself, propensity_score and the affinities to other items.
    """
    folder = data / "open_bandit" / "random" / campaign
    shown = read_source(folder / f"{campaign}.csv.gz").table
    items = read_source(folder / "item_context.csv").table
    wanted = [name for name in shown.column_names if name.startswith("user_feature")]
    table = shown.select([*wanted, "position", "click"])
    return encode(Source.of(_with_items(table, shown["item_id"], items), campaign), "click")


def _with_items(table: Any, ids: Any, items: Any) -> Any:
    place = pc.index_in(ids, value_set=items["item_id"].combine_chunks())
    if place.null_count:
        raise ValueError(f"{place.null_count:,} impressions show an item without features")
    for name in items.column_names:
        if name.startswith("item_feature"):
            table = table.append_column(name, items[name].take(place))
    return table


#: How each log is read, by its title.
LOGS: dict[str, Callable[[Path], ReplayLog]] = {
    "bank marketing": bank_marketing,
    "online shoppers": online_shoppers,
    **{f"open bandit, {each}": partial(open_bandit, campaign=each) for each in CAMPAIGNS},
}

"""Public logs in a directory of data, read for the replay with their traps avoided.

The directory has a folder for each source: ``bank_marketing`` and ``online_shoppers`` with the
files of the UCI repository, ``open_bandit`` with those of ZOZOTOWN's uniform policy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from fabcost.features.tables.files import read_file
from fabcost.features.tables.sheet import Sheet
from fabcost.offline.logs.impressions import ReplayLog, encode, read_log

CAMPAIGNS = ("all", "men", "women")


def bank_marketing(data: Path) -> ReplayLog:
    r"""Calls of a bank: did the client subscribe?  The duration is only known afterwards.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as data:
    ...     path = Path(data, "bank_marketing", "bank-additional-full.csv.gz")
    ...     path.parent.mkdir()
    ...     _ = path.write_bytes(gzip.compress(b"age;duration;y\n30;9;yes\n40;1;no\n"))
    ...     bank_marketing(Path(data)).columns
    ('bias', 'age')
    """
    path = data / "bank_marketing" / "bank-additional-full.csv.gz"
    return read_log(path, "y", drop=["duration"])


def online_shoppers(data: Path) -> ReplayLog:
    r"""Visits to a shop: did one end in a purchase?  PageValues nearly reads the outcome out.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as data:
    ...     path = Path(data, "online_shoppers", "online_shoppers_intention.csv.gz")
    ...     path.parent.mkdir()
    ...     text = b"BounceRates,PageValues,Revenue\n0.1,5,TRUE\n0.2,0,FALSE\n"
    ...     _ = path.write_bytes(gzip.compress(text))
    ...     online_shoppers(Path(data)).columns
    ('bias', 'BounceRates')
    """
    path = data / "online_shoppers" / "online_shoppers_intention.csv.gz"
    return read_log(path, "Revenue", drop=["PageValues"])


def open_bandit(data: Path, campaign: str) -> ReplayLog:
    """Impressions of a campaign of ZOZOTOWN under a uniform policy, and their clicks.

    Each impression has its user features and position, and the features of the item that was
    shown, looked up by item_id in item_context.csv.  The rest is dropped: index, timestamp,
    item_id itself, propensity_score and the affinities to other items.

    Examples
    --------
    >>> open_bandit(Path("data"), "children")
    Traceback (most recent call last):
    ...
    ValueError: campaign is 'children' but must be one of all, men, women
    """
    if campaign not in CAMPAIGNS:
        raise ValueError(f"campaign is {campaign!r} but must be one of {', '.join(CAMPAIGNS)}")
    folder = data / "open_bandit" / "random" / campaign
    shown = read_file(folder / f"{campaign}.csv.gz").table
    items = read_file(folder / "item_context.csv").table
    wanted = [name for name in shown.column_names if name.startswith("user_feature")]
    table = shown.select([*wanted, "position", "click"])
    return encode(Sheet.of(_with_items(table, shown["item_id"], items), campaign), "click")


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

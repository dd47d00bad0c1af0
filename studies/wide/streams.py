"""Impressions as hashed rows: simulated ones, and those of a public set."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from fabcost import HashedFeatures
from fabcost.impressions import FloatArray
from fabcost.sparse import SparseRows

BITS, FIELDS = 20, 19
SPREAD, BASE = 0.5, -2.0


@dataclass(frozen=True)
class Stream:
    """Impressions as hashed rows of twenty numbers, and their clicks."""

    name: str
    rows: SparseRows
    y: FloatArray

    def first(self, many: int) -> Stream:
        """Only the first impressions."""
        return Stream(self.name, self.rows[np.arange(many)], self.y[:many])


def simulated(seed: int, many: int, *, columns: int = 2**BITS) -> Stream:
    """A constant and 19 categories, of 3 to 200,000 values by Zipf's law, with random weights."""
    rng, hashed = np.random.default_rng(seed), HashedFeatures(bits=BITS)
    found = np.zeros((many, FIELDS + 1), dtype=np.int64)
    found[:, 0] = hashed.column("constant")[0]
    for field, size in enumerate(np.geomspace(3, 200_000, FIELDS).astype(int).tolist()):
        odds = np.arange(1, size + 1) ** -1.1
        values = rng.choice(size, size=many, p=odds / odds.sum()).tolist()
        found[:, field + 1] = [hashed.column(f"{field}={value}")[0] for value in values]
    found %= columns
    rows = SparseRows.of_pairs([(each, np.ones(each.size)) for each in found], columns)
    theta = SPREAD * rng.standard_normal(columns)
    theta[found[0, 0]] = BASE
    clicks = rng.random(many) < expit(rows.dot(theta))
    return Stream("simulated clicks", rows, clicks.astype(np.float64))


def bank_marketing(many: int, *, after: int = 0) -> Stream | None:
    """Whether a client subscribed: every field but one as a category, in random order."""
    path = Path(os.environ.get("FABCOST_DATA", "")) / "bank_marketing/bank-additional-full.csv.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    order = np.random.default_rng(0).permutation(len(records))[after : after + many].tolist()
    chosen = [records[k] for k in order]
    left_out = ("y", "duration")  # known only afterwards
    rows = HashedFeatures(bits=BITS).rows(
        {name: value for name, value in each.items() if name not in left_out} for each in chosen
    )
    return Stream("bank marketing", rows, np.array([float(each["y"] == "yes") for each in chosen]))


def folded(stream: Stream, columns: int) -> Stream:
    """Hashed into fewer columns; numbers that meet in one of a row are added up."""
    pairs = [
        (stream.rows[k].columns % columns, stream.rows[k].values) for k in range(len(stream.y))
    ]
    return Stream(stream.name, SparseRows.of_pairs(pairs, columns), stream.y)


def narrowed(stream: Stream) -> Stream:
    """Without the columns that no row has: a model with a prior of its own for each is the same."""
    columns, places = stream.rows.touched
    rows = SparseRows(stream.rows.starts, places, stream.rows.values, columns.size)
    return Stream(stream.name, rows, stream.y)

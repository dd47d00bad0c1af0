"""The study of real tastes, on few ratings that are made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies.kept import Kept
from studies.movielens.__main__ import page, verdict
from studies.movielens.choosers import choosers
from studies.movielens.games import CHECKPOINTS, Games, play
from studies.movielens.rounds import FILMS, WIDTH, read, rounds

FIVE_STARS = 7  # the film that everybody likes, by its place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six people who rate thirty films, and one who rates few; all like one film alone."""
    where = tmp_path_factory.mktemp("films")
    people, films = 7, 30
    pairs = [(u, m) for u in range(1, people + 1) for m in range(1, films + 1) if u > 1 or m < 9]
    users, movies = (np.array(each) for each in zip(*pairs, strict=True))
    stars = np.where(movies == FIVE_STARS + 1, 5, 1 + movies % 4)
    genres = {f"genre {k}": (np.arange(films) % 18 == k).astype(int) for k in range(18)}
    before = {name: [""] * films for name in ("title", "video_release_date", "url", "unknown")}
    dates = [None, *[f"01-Jan-{1960 + k}" for k in range(1, films)]]
    tables = {
        "data": {"user_id": users, "movie_id": movies, "rating": stars},
        "items": {"movie_id": np.arange(1, films + 1), "release_date": dates} | before | genres,
        "users": {
            "user_id": np.arange(1, people + 1),
            "age": np.arange(20, 20 + people),
            "gender": list("FMFMFMF"),
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), where / f"MovieLens100k_{name}.parquet.brotli")
    return where


def test_rounds_are_of_people_with_enough_ratings(folder: Path) -> None:
    drawn = rounds(read(folder), 40, 0)
    assert len(read(folder).rated) == 6
    for given in drawn:
        assert given.rows.shape == (FILMS, WIDTH)
        assert len(set(given.films)) == FILMS
        assert [given.films[k] for k in np.flatnonzero(given.clicks)] in ([], [FIVE_STARS])
        # age is among the rows as it is of the person, and older than that of the one left out
        assert (given.rows[:, 20] == given.person[1]).all()
    ages = {float(given.person[1]) for given in drawn}
    assert min(ages) > (0 - 3) / np.arange(7).std()


def test_who_knows_films_by_their_ids_finds_the_one_that_is_liked(folder: Path) -> None:
    # At random it is shown in 2/3 of the rounds and chosen in a twentieth of those: 10 of 300,
    # of sd 3.1.  One who has found it has some 150; 40 by chance have a probability below 1e-12.
    random, ids, both, counts = (
        play(folder, 300, (group, name, 0))[0]
        for group, name in (
            ("at random", "at random"),
            ("ids", "τ² = 1"),
            ("both", "τ² = 1"),
            ("counts", "Beta(1.0, 4.0)"),
        )
    )
    assert min(ids, both, counts) > 40 > random


def test_settings_are_chosen_and_known_results_are_not_played_again(
    folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    games = Games(folder, Kept(kept, workers=1), 300)
    names = [*choosers()["counts"]][:2]
    played = games.clicks([("counts", name) for name in names], [1, 2])
    assert played.shape == (2, 2, 1)
    assert played[1, 0] == play(folder, 300, ("counts", names[1], 1))
    again = Games(tmp_path / "nowhere", Kept(kept), 300)
    assert again.best("counts", names, [1, 2]) == names[played[:, :, 0].sum(axis=1).argmax()]
    assert again.best("at random", ["at random"], [1, 2]) == "at random"


def test_the_page_says_who_is_ahead() -> None:
    spread = np.outer(np.tile([-1.0, 1.0], 10), np.ones(len(CHECKPOINTS)))
    clicks = {
        "both": 100.0 + spread,
        "ids": 90.0 + spread,
        "counts": 100.0 - spread,
        "features": 110.0 - spread,
    }
    assert verdict(clicks, "ids").endswith(
        "is not behind ids from 1,000 impressions on, and ahead at 300, 1,000, 2,500, 5,000."
    )
    assert "is not behind" in verdict(clicks, "counts")
    assert "**ahead nowhere**" in verdict(clicks, "counts")
    assert "**is behind**" in verdict(clicks, "features")
    text = page(dict.fromkeys(clicks, "as it is"), clicks, "python -m studies.movielens")
    assert "Mab2Rec, which was not installed" in text
    assert text.count("| ids | as it is |") == 2
    assert text.count("| both | as it is |") == 1


def test_a_policy_of_mab2rec_finds_it_too(folder: Path) -> None:
    if "Mab2Rec" not in choosers():
        pytest.skip("Mab2Rec is not installed")
    for name in ("ThompsonSampling", "LinUCB 0.3"):
        assert play(folder, 300, ("Mab2Rec", name, 0))[0] > 40

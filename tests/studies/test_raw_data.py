"""The study of raw data, on small sizes: what it keeps, what it says, and what would not hold."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from studies.kept import Kept
from studies.raw_data import firsts, requirements
from studies.raw_data.__main__ import page
from studies.raw_data.firsts import Replayed, replayed, write_log
from studies.raw_data.sites import AS_THEY_COME, BY_HAND, WITHOUT_IDS
from studies.raw_data.visits import Runs

SITES = {"natural": 2, "user ids": 2}


@pytest.fixture
def runs() -> Runs:
    """Runs of which everything is known already."""
    kept = Kept()
    clicks = {BY_HAND: 100, AS_THEY_COME: 90, WITHOUT_IDS: 80, "unscaled": 50}
    for site in SITES:
        for arm, count in clicks.items():
            for seed in range(2):
                known = [count + seed, 70, 1.5, ["user_id"], ["user_id"] if seed else []]
                kept.known[site, arm, seed, 10] = known
    return Runs(SITES, 10, kept)


def test_pieces_of_work_are_done_once(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    pieces = [("banner", 1), ("banner", 2), ("banner", 1)]
    first = Kept(path, workers=1).results(str, pieces)
    assert first == ["('banner', 1)", "('banner', 2)", "('banner', 1)"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    assert Kept(path).results(repr, pieces[:1]) == first[:1]
    again = Kept(path, workers=1).results(len, [("banner", 2), ("other",)])
    assert again == ["('banner', 2)", 1]


def test_claims_are_of_the_arms_that_they_name(runs: Runs) -> None:
    natural, weights, warned, spent, clicks = requirements.of_visits(runs)
    assert natural.measured == pytest.approx(1.0 - 10.0 / 100.5)
    assert not natural.holds
    assert (weights.measured, spent.measured) == (70, 1.5)
    assert warned.measured == 0.5
    assert not warned.holds
    assert clicks.measured == pytest.approx(1.0 + 10.0 / 80.5)
    text = page(runs, [natural, clicks], "python -m studies.raw_data")
    assert "| natural | unscaled | 2 | 50 | 50 to 51 | -49.8 (-49.8 to -49.8) % |" in text
    assert "| user ids | by hand | 2 | 100 | 100 to 101 |  |" in text
    assert "| ≥ 0.95 | NO |" in text


def test_one_make_of_the_simple_log_is_clicked_more(tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", "%Y-%m-%d")
    with (tmp_path / "log.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == ["make", "price", "seen", "clicked"]
    clicked = np.array([row["clicked"] == "1" for row in rows])
    good = np.array([row["make"] == "make 0" for row in rows])
    # Four sds of a share of 600 at 20 % and of 2,400 at 5 %: 0.0001 for a false alarm.
    assert clicked[good].mean() == pytest.approx(firsts.GOOD, abs=0.066)
    assert clicked[~good].mean() == pytest.approx(firsts.USUAL, abs=0.018)


def test_dates_are_parts_or_refused_in_words() -> None:
    found = replayed("%Y-%m-%d", seeds=2, rounds=20)
    assert isinstance(found, Replayed)
    assert any(each.startswith("seen") for each in found.columns)
    assert (len(found.fabcost), len(found.uniform)) == (2, 2)
    refused = replayed(firsts.DAY_FIRST, seeds=2, rounds=20)
    assert isinstance(refused, str)
    assert "column 'seen' holds dates" in refused


def test_replays_are_judged_by_their_ratio() -> None:
    kept = Kept()
    for dates, known in (
        ("", [[60, 62], [40, 40], ["bias"]]),
        ("%Y-%m-%d", [[50, 52], [40, 40], ["bias", "seen day"]]),
        (firsts.DAY_FIRST, [[50, 52], [40, 40], ["bias"]]),
    ):
        kept.known["replay", dates, 2] = known
    simple, dated, refused = requirements.of_replays(kept, 2)
    assert simple.measured == pytest.approx(61 / 40)
    assert simple.holds
    assert not dated.holds
    assert "dates are seen day" in dated.detail
    assert not refused.holds


def test_there_is_one_prior() -> None:
    assert requirements.of_priors().holds

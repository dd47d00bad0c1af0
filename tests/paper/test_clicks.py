"""The click figure at tiny scales, and the published baseline in closed form."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from fabcost import Gaussian
from fabcost.bandit.baselines import LaplaceAsPublished
from fabcost.offline.intervals import Band
from fabcost.offline.replay.runs import Replays
from fabcost.paper.designs import authors_design, day
from fabcost.paper.measures import clicks as measure
from fabcost.paper.measures.clicks import (
    CORRECT,
    EVERY_ROUND,
    OURS,
    PAPERS,
    PUBLISHED,
    RANDOM,
    STRAIGHT,
    Bandits,
    is_refit,
    play,
    share,
)
from fabcost.paper.parts.clicks import claims, draw_bandits
from fabcost.paper.units import QUICK

TINY = dataclasses.replace(QUICK, day_rows=200, bandit_rounds=60, bandit_seeds=2)


def played(seed: int) -> Bandits:
    return measure.gather(TINY, {unit.name: unit.compute() for unit in measure.units(TINY, seed)})


@pytest.fixture(scope="module")
def tiny() -> Bandits:
    return played(0)


def hand_made(**clicks: list[float]) -> Bandits:
    """Final clicks by policy, on three days."""
    names = {"papers": PAPERS, "ours": OURS, "correct": CORRECT, "published": PUBLISHED}
    final = {names[key]: np.array(each)[:, None] for key, each in clicks.items()}
    replays = Replays(np.array([31_000]), final, CORRECT)
    ended = {policy: np.array([[700.0]]) for policy in (PAPERS, OURS, CORRECT)}
    none = Band(*np.zeros((3, 1)))
    return Bandits(
        replays, Replays(np.array([678_446]), ended, CORRECT), 700, 31_000, none, (1.0, 2.0, 3.0)
    )


def test_every_policy_is_played_on_every_day(tiny: Bandits) -> None:
    assert set(tiny.replays.clicks) == {PAPERS, OURS, CORRECT, PUBLISHED, RANDOM}
    for clicks in tiny.replays.clicks.values():
        assert clicks.shape == (2, 60)
        assert set(np.diff(clicks, axis=1).ravel()) <= {0.0, 1.0}
    assert (tiny.rounds, tiny.days) == (60, 2)


def test_another_seed_gives_other_clicks(tiny: Bandits) -> None:
    again, other = played(0), played(1)
    for policy, clicks in tiny.replays.clicks.items():
        np.testing.assert_array_equal(clicks, again.replays.clicks[policy])
        assert (clicks != other.replays.clicks[policy]).any()


def test_days_of_different_seeds_do_not_overlap() -> None:
    days = [{unit.arguments["seed"] for unit in measure.units(TINY, seed)} for seed in (0, 1, 2)]
    assert all(len(each) == TINY.bandit_seeds for each in days)
    assert len(set.union(*days)) == 3 * TINY.bandit_seeds


def test_all_finish_the_day_with_the_clicks_of_the_log(tiny: Bandits) -> None:
    logged = int(day(60, seed=0).y.sum())
    assert tiny.logged == logged
    assert {float(each[0, -1]) for each in tiny.whole.clicks.values()} == {float(logged)}
    verdicts = {claim.claim: claim.verdict for claim in claims(tiny)}
    assert verdicts["All algorithms finish the day with an equal cumulative reward"] == "reproduced"


def test_totals_that_differ_are_not_called_equal(tiny: Bandits) -> None:
    wrong = dataclasses.replace(tiny, logged=tiny.logged + 1)
    (claim,) = [each for each in claims(wrong) if "equal cumulative" in each.claim]
    assert claim.verdict == "not reproduced"


def test_the_whole_day_is_played_where_the_scale_says_so() -> None:
    whole = dataclasses.replace(TINY, whole_day=True)
    ended = [each for each in measure.units(whole, 0) if each.name.endswith("whole")]
    assert {each.arguments["rounds"] for each in ended} == {200}


def test_share_of_the_defect_by_hand() -> None:
    """Gains of 50 and 70 clicks over published, 10 and 20 over correct: 90 of 120 are defect."""
    ours, published = np.array([[150.0], [190.0]]), np.array([[100.0], [120.0]])
    found = share(ours, published, correct=np.array([[140.0], [170.0]]))
    assert found.mean[0] == pytest.approx(75.0)
    # Residuals (C − P) − 0.75 (F − P): 2.5 and −2.5, over the mean gain of 60.
    half = stats.t.ppf(0.975, 1) * np.std([2.5, -2.5], ddof=1) / np.sqrt(2) / 60.0
    assert found.half[0] == pytest.approx(100.0 * half)


def test_a_correct_baseline_that_wins_is_a_share_above_all() -> None:
    part = hand_made(
        papers=[110.0, 121.0, 130.0],
        ours=[110.0, 121.0, 130.0],
        correct=[120.0, 131.0, 141.0],
        published=[50.0, 60.0, 70.0],
    )
    headline, cause, superior, *_ = claims(part)
    assert part.defect.low[0] > 100.0
    assert [headline.verdict, cause.verdict, superior.verdict] == [
        "partly",
        "not reproduced",
        "partly",
    ]
    assert headline.reason.endswith("the interval of its gain excludes 16.1 %")


def test_a_gain_over_a_correct_baseline_is_recognised() -> None:
    part = hand_made(
        papers=[120.0, 131.0, 141.0],
        ours=[120.0, 131.0, 141.0],
        correct=[100.0, 110.0, 120.0],
        published=[95.0, 105.0, 116.0],
    )
    assert [each.verdict for each in claims(part)[:3]] == ["reproduced"] * 3
    assert "lies above 0 and does not exclude 16.1 %" in claims(part)[0].reason


def test_a_gain_that_may_be_none_is_not_called_one() -> None:
    part = hand_made(
        papers=[100.0, 150.0, 120.0],
        ours=[100.0, 150.0, 120.0],
        correct=[110.0, 100.0, 115.0],
        published=[30.0, 55.0, 40.0],
    )
    headline = claims(part)[0]
    assert headline.verdict == "partly"
    assert headline.reason.endswith("no gain is shown")


def test_a_short_day_is_called_trivial(tiny: Bandits) -> None:
    assert "cut to 60 impressions, so that the lead is trivial" in claims(tiny)[-1].reason
    same = [100.0, 110.0, 121.0]
    whole = hand_made(papers=same, ours=same, correct=same, published=same)
    assert "trivial" not in claims(whole)[-1].reason


def test_no_gain_at_all_is_not_reproduced() -> None:
    same = [100.0, 110.0, 121.0]
    part = hand_made(papers=same, ours=same, correct=same, published=[101.0, 112.0, 122.0])
    assert [each.verdict for each in claims(part)[:3]] == ["not reproduced"] * 3


def test_refits_are_every_round_and_then_geometric() -> None:
    refits = [seen for seen in range(1, 40_000) if is_refit(seen)]
    assert refits[:1000] == list(range(1, 1001))
    late = np.array(refits[1000:])
    np.testing.assert_allclose(late[1:] / late[:-1], 1.02, atol=0.002)


def test_the_schedule_is_every_round_at_first() -> None:
    one, other = (play(policy, 150, 80, 3)["clicks"] for policy in (CORRECT, EVERY_ROUND))
    np.testing.assert_array_equal(one, other)


def test_the_published_baseline_in_closed_form_is_the_published_one() -> None:
    data = authors_design(700, seed=5)
    X, y = data.X[:, :3], data.y
    prior = Gaussian.isotropic(3, variance=100.0)
    straight, refitted = LaplaceAsPublished(prior, straight=STRAIGHT), LaplaceAsPublished(prior)
    since = 0
    for row, label in zip(X, y, strict=True):
        straight.observe(row, label)
        refitted.observe(row, label)
        since += straight.is_straight
    assert 50 < since < 650
    one, other = straight.posterior, refitted.posterior
    # The error of the straight line, against the width of the belief and against the precision.
    assert np.abs((one.mean - other.mean) / other.sd).max() < STRAIGHT**2
    np.testing.assert_allclose(one.precision, other.precision, rtol=STRAIGHT**2)


def test_a_prior_of_another_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="the published one is zero"):
        LaplaceAsPublished(Gaussian.isotropic(2, mean=1.0), straight=STRAIGHT)


def test_the_figure_has_six_panels(tiny: Bandits) -> None:
    figure = draw_bandits(tiny)
    assert len(figure.axes) == 6
    assert all(axes.lines for axes in figure.axes)

"""What is asked of the first visit to the library, each with its measurement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from fabcost import BayesianLogisticRegression, Prior, Recommender, Schema
from fabcost.features.layout import MOST_WEIGHTS
from fabcost.impressions import FloatArray
from fabcost.offline.evaluate.outlook import EvaluationSettings
from fabcost.offline.replay.runs import ReplaySettings
from fabcost.wire.settings import ModelSettings
from studies.claims import Claim
from studies.kept import Kept, Piece
from studies.own_effects import RATES, without_features
from studies.priors import losses, sets
from studies.raw_data import firsts
from studies.raw_data.sites import AS_THEY_COME, BY_HAND, WITHOUT_IDS
from studies.raw_data.visits import Runs

_USER = "user_id"


def of_visits(runs: Runs) -> Iterator[Claim]:
    """Natural prices, and a user's id in the context."""
    gain, half = runs.beyond("natural", AS_THEY_COME, BY_HAND)
    seeds = len(runs.of("natural", BY_HAND))
    detail = f"{gain:+.1f} ± {half:.1f} % of the clicks, {seeds} seeds"
    what = "natural prices: clicks of those with prices scaled by hand"
    yield Claim(what, 1.0 + gain / 100.0, "at least", 0.95, detail, unit="")
    found = runs.of("user ids", AS_THEY_COME)
    seeds, weights = len(found), max(run.weights for run in found)
    what = f"`{_USER}` in the context, 1,000 users: weights"
    yield Claim(what, weights, "at most", MOST_WEIGHTS, f"most of {seeds} seeds", unit="")
    told = np.mean([_USER in run.warned for run in found])
    yield Claim("its warning names it", float(told), "at least", 1.0, "share of seeds", unit="")
    spent = float(np.median([run.milliseconds for run in found]))
    detail = "of the processor; decision, feedback and refreshes; median of seeds"
    yield Claim("its milliseconds a visit", spent, "at most", 5.0, detail, unit="")
    gain, half = runs.beyond("user ids", AS_THEY_COME, WITHOUT_IDS)
    detail = f"{gain:+.1f} ± {half:.1f} % of the clicks, {seeds} seeds"
    what = "its clicks, of those without it"
    yield Claim(what, 1.0 + gain / 100.0, "at least", 0.95, detail, unit="")


def of_banners(kept: Kept, seeds: int) -> Claim:
    """Three items that have nothing but their ids."""
    share = np.array(kept.results(best_banner, [("banner", seed) for seed in range(seeds)]))
    rates = ", ".join(f"{100 * each:.0f}" for each in RATES.values())
    detail = f"least of {seeds} seeds, mean {share.mean():.3f}; clicks of {rates} %"
    what = "three banners without features: share of the best in 2,000 visits"
    return Claim(what, float(share.min()), "at least", 0.85, detail, unit="")


def best_banner(piece: Piece) -> float:
    """The share of visits with the best of three, by seed."""
    return without_features(int(piece[1]))


def of_losses(kept: Kept, splits: int) -> Iterator[Claim]:
    """Log loss of the estimator as it comes, beside scikit-learn's and the constant's."""
    public = [each for each in (*sets.CHOOSING, *sets.CONFIRMING) if not each.startswith("made")]
    for size in losses.SIZES:
        titles = [title for title in public if losses.is_large_enough(title, size)]
        pieces = [("loss", title, size, seed) for title in titles for seed in range(splits)]
        ours, scikit, constant = np.array(kept.results(log_losses, pieces)).mean(axis=0)
        detail = (
            f"scikit-learn {scikit:.4f}, constant {constant:.4f}; {len(titles)} public sets, "
            f"{splits} splits"
        )
        what = f"`BayesianLogisticRegression()`, {size:,} rows: log loss"
        least = round(float(min(scikit, constant)), 4)
        yield Claim(what, float(ours), "at most", least, detail, unit="")


def log_losses(piece: Piece) -> list[float]:
    """Ours, scikit-learn's and the constant's on one split of a set."""
    _, title, size, seed = piece
    with threadpool_limits(1):
        split = losses.split_of(losses.Task(str(title), int(size), int(seed)))
        model = BayesianLogisticRegression().fit(split.X, split.y)
        ours = losses.loss_of(split, model.predict_proba(split.held_out)[:, 1])
        return [ours, losses.scikit_learn(split), losses.constant(split)]


def of_replays(kept: Kept, seeds: int) -> Iterator[Claim]:
    """The first replay of a simple log, without and with a column of dates."""
    kinds = {"simple": "", "dates": "%Y-%m-%d", "other dates": firsts.DAY_FIRST}
    pieces = [("replay", dates, seeds) for dates in kinds.values()]
    simple, dated, refused = kept.results(first_replay, pieces)
    log = f"{firsts.ROWS:,} rows of {firsts.MAKES} makes"
    for what, (ours, uniform, columns) in (
        (f"first `fabcost replay`, {log}: clicks of uniform choices", simple),
        ("the same with a column of dates", dated),
    ):
        ratio, detail = _beside(np.array(ours), np.array(uniform))
        parts = ", ".join(each for each in columns if each.startswith("seen"))
        detail += f"; dates are {parts}" if parts else ""
        yield Claim(what, ratio, "at least", 1.5, detail)
    told = isinstance(refused, str) and "holds dates" in refused
    detail = refused.partition("column ")[2] if told else "not refused in words"
    what = "the same with dates as 31/01/2024: refused in words"
    yield Claim(what, float(told), "at least", 1.0, detail, unit="")


def first_replay(piece: Piece) -> firsts.Replayed | str:
    """A replay through the command, by the form of its dates."""
    return firsts.replayed(str(piece[1]) or None, seeds=int(piece[2]))


def _beside(ours: FloatArray, uniform: FloatArray) -> tuple[float, str]:
    more = ours - uniform
    half = 1.96 * more.std(ddof=1) / np.sqrt(more.size)
    detail = (
        f"{ours.mean():.1f} and {uniform.mean():.1f} clicks in {firsts.ROUNDS} rounds, "
        f"{more.mean():+.1f} ± {half:.1f}; {more.size} seeds"
    )
    return float(ours.mean() / uniform.mean()), detail


def of_priors() -> Claim:
    """How many different priors a user gets who gives none."""
    model = BayesianLogisticRegression()
    v = model.prior_variance
    constant = v if model.intercept_prior_variance is None else model.intercept_prior_variance
    defaults = {
        "Recommender": Recommender(Schema.open()).prior,
        "a served model": ModelSettings().variances(),
        "fabcost replay": ReplaySettings().prior,
        "fabcost evaluate": EvaluationSettings().prior,
        "BayesianLogisticRegression": Prior(constant, v, v, v),
    }
    detail = ", ".join(defaults)
    return Claim("different default priors", len({*defaults.values()}), "at most", 1, detail, "")


def measured(runs: Runs, kept: Kept, seeds: int) -> list[Claim]:
    """All of them."""
    of_sites, losses_ = of_visits(runs), of_losses(kept, max(2, seeds // 2))
    natural = next(of_sites)
    banners, replays = of_banners(kept, seeds), of_replays(kept, seeds)
    return [natural, banners, *of_sites, *losses_, *replays, of_priors()]

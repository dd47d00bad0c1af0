"""Why an item was shown, beside the runner-up; and what a model has learnt, as contrasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from fabcost.bandit.prospects import Prospects, marginal, moments
from fabcost.features import contrasts as rows_of
from fabcost.features.hashed import HashedSchema
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.service.learning.follower import Learnt, predicted
from fabcost.service.models.candidates import amounts_of
from fabcost.service.models.model import Known, Model
from fabcost.service.store.rows import (
    DecisionRecord,
    Impression,
    StoredDecision,
    impression,
    record,
)
from fabcost.wire.errors import ServiceError
from fabcost.wire.messages import (
    Contribution,
    DecisionRequest,
    DecisionView,
    ExplanationAnswer,
    RunnerUp,
)
from fabcost.wire.settings import GreedySettings, UCBSettings
from fabcost.wire.statistics import ContrastView, ItemEffect

#: Keys of items, of which the first that is there is shown to people.
NAMES, IMAGES = ("_name", "name", "title"), ("_image", "image", "picture")
#: Others beyond so many are not looked at, the least likely first.
_MOST_OTHERS = 1_000


class Past(NamedTuple):
    """A decision as it was written down; reading it may take long."""

    item: str
    shown: DecisionView
    made: DecisionRecord
    row: Impression

    @classmethod
    def of(cls, stored: StoredDecision, shown: DecisionView) -> Past:
        """What is read of it."""
        return cls(stored.item, shown, record(stored.record), impression(stored.features))


class Rival(NamedTuple):
    """The best of the others: its row, whether it was likelier, and how likely it is worse."""

    item: str
    row: Impression
    was_likelier: bool | None
    chosen_is_better: float
    is_worth_more: bool


def explained(model: Model, past: Past) -> ExplanationAnswer:
    """What each column of the chosen row adds to its log-odds, under the posterior of now."""
    known, shown, row = model.known(), past.shown, past.row
    chances = predicted(known.belief, known.own, [Learnt(row, 1, past.item)])
    probability = float(np.clip(chances[0], 0.0, 1.0))
    answer = ExplanationAnswer(
        decision=shown,
        posterior_version=known.published.version,
        click_probability=probability,
        contributions=_contributions(model, past, row, {past.item: 1.0}),
        names=_called(model, shown.ranking),
    )
    rival = _rival(model, known, past.made, past.item)
    beside = None if rival is None else _runner_up(model, known, past, rival)
    always_best = isinstance(model.settings.policy, GreedySettings | UCBSettings)
    told = _told(shown, probability, beside, rival, always_best=always_best)
    return msgspec.structs.replace(answer, runner_up=beside, **told)


def for_people(model: Model, item: str, keys: tuple[str, ...]) -> str | UnsetType:
    """What the catalogue has of an item under the first of the keys that is a text."""
    record = model.catalogue.items.get(item, {})
    found = (record.get(key) for key in keys)
    return next((each for each in found if isinstance(each, str) and each), UNSET)


def _called(model: Model, items: list[str]) -> dict[str, str]:
    """The names of those items that have one."""
    named = {item: for_people(model, item, NAMES) for item in items}
    return {item: name for item, name in named.items() if name is not UNSET}


def effects(known: Known, items: list[str]) -> dict[str, ItemEffect]:
    """What is known of the items' own effects; nothing if they have none."""
    if known.own is None or not items:
        return {}
    belief: Any = known.belief  # a Gaussian, where items have effects
    mean, variance = known.own.effects(belief, items)
    found = zip(items, mean.tolist(), np.sqrt(variance).tolist(), strict=True)
    return {item: ItemEffect(each, sd) for item, each, sd in found}


def _contributions(
    model: Model, past: Past, row: Impression, items: dict[str, float]
) -> list[Contribution]:
    """Of the columns of a row, and of items so many times; the largest first."""
    known, columns = model.known(), row.columns
    weights = known.belief.mean[columns].tolist(), known.belief.sd[columns].tolist()
    beside = next((item for item in items if item != past.item), None)
    named = zip(_names(model, columns, past, beside), row.numbers, *weights, strict=True)
    found = [Contribution(*each, each[1] * each[2]) for each in named]
    for item, own in effects(known, list(items)).items():
        times = items[item]
        name = f"item {_called(model, [item]).get(item, item)}"
        found.append(Contribution(name, times, own.mean, own.sd, times * own.mean))
    return sorted(found, key=lambda one: -abs(one.contribution))


def _names(model: Model, columns: list[int], past: Past, beside: str | None) -> list[str]:
    """What columns stand for: those of a decision's item, and of another that is ``beside``."""
    schema = model.schema
    if not isinstance(schema, HashedSchema):
        names = schema.columns
        return [names[column] for column in columns]
    made = past.made
    item = (made.features or {}).get(past.item, made.item_features or {})
    found = schema.names(made.context, item)
    if beside is not None:
        other = (made.features or model.catalogue.items)[beside]
        found = {**schema.names(made.context, other), **found}
    return [found.get(column, f"weight {column}") for column in columns]


def _rival(model: Model, known: Known, made: DecisionRecord, chosen: str) -> Rival | None:
    """The likeliest of the others, and of equally likely ones the best by what is known now.

    None if there was no other, or the chosen one is no longer in the catalogue.
    """
    there = model.catalogue.items if made.features is None else made.features
    shares, gone = made.all_propensities, set(made.excluded)
    likely = None if shares is None else dict(zip(made.candidates, shares, strict=True))
    names = [name for name in made.candidates if name in there and name not in gone]
    if chosen not in names or len(names) == 1:
        return None
    if len(names) > _MOST_OTHERS:
        others = sorted(set(names) - {chosen}, key=lambda name: -(likely or {}).get(name, 0.0))
        names = [chosen, *others[:_MOST_OTHERS]]
    inline = None if made.features is None else {name: made.features[name] for name in names}
    listed = names if inline is None else None
    values, costs = (_given(each, names) for each in (made.values, made.costs))
    request = DecisionRequest(
        context=made.context, candidates=inline, items=listed, values=values, costs=costs
    )
    try:
        scene, _ = model.scenes.of(request)
        amounts = amounts_of(request, model.catalogue, model.settings)
    except ServiceError:  # an item changed, and the context cannot be read beside it
        return None
    rows, own_place = known.rows(scene), scene.names.index(chosen)
    expected = moments(rows, *marginal(known.belief, rows))[0]
    if amounts is not None:
        expected = expected * amounts.values - amounts.costs
    ranks = [(0.0 if likely is None else likely[name]) for name in scene.names]
    ranks[own_place] = -1.0
    place = int(np.lexsort((expected, np.array(ranks)))[-1])
    pair = Prospects.of(known.belief, rows[np.array([own_place, place])])
    return Rival(
        item=scene.names[place],
        row=impression(scene.at(place).row),
        was_likelier=None if likely is None else likely[scene.names[place]] > likely[chosen],
        chosen_is_better=_first_is_better(pair),
        is_worth_more=bool(expected[place] > expected[own_place]),
    )


def _given(amounts: dict[str, float] | None, names: list[str]) -> dict[str, float] | None:
    """Those that a request gave, of some candidates."""
    return amounts and {name: amounts[name] for name in names if name in amounts}


def _first_is_better(pair: Prospects) -> float:
    """P(η₁ > η₂)."""
    apart, variance = pair.spread[0] - pair.spread[1], 0.0
    if pair.noise is not None:
        variance = float(pair.noise @ pair.noise)
    sd = math.sqrt(float(apart @ apart) + variance)
    ahead = float(pair.centre[0] - pair.centre[1])
    if sd == 0.0:
        return 0.5 * (1.0 + float(np.sign(ahead)))
    return 0.5 * math.erfc(-ahead / (sd * math.sqrt(2.0)))


def _runner_up(model: Model, known: Known, past: Past, rival: Rival) -> RunnerUp:
    numbers = dict(zip(past.row.columns, past.row.numbers, strict=True))
    for column, number in zip(rival.row.columns, rival.row.numbers, strict=True):
        numbers[column] = numbers.get(column, 0.0) - number
    apart = sorted(column for column, number in numbers.items() if number != 0.0)
    difference = Impression(apart, [numbers[column] for column in apart])
    of_rival = predicted(known.belief, known.own, [Learnt(rival.row, 1, rival.item)])
    return RunnerUp(
        item=rival.item,
        click_probability=float(np.clip(of_rival[0], 0.0, 1.0)),
        chosen_is_better=rival.chosen_is_better,
        differences=_contributions(model, past, difference, {past.item: 1.0, rival.item: -1.0}),
        name=for_people(model, rival.item, NAMES),
    )


def _told(
    shown: DecisionView,
    probability: float,
    other: RunnerUp | None,
    rival: Rival | None,
    *,
    always_best: bool,
) -> dict[str, Any]:
    """Whether it was shown by chance, and why it was, in a sentence."""
    if shown.arm == "holdback":
        return {"by_chance": True, "summary": "By chance: the holdback shows any candidate."}
    if shown.arm != "bandit":
        return {"summary": _ARMS.get(shown.arm, "")}
    if other is None or rival is None:
        return {"summary": "No other candidate is there to compare it with."}
    called = other.item if other.name is UNSET else other.name
    rates = f"{_percent(probability)} for it and {_percent(other.click_probability)} for {called}"
    now = f"the predicted click rates are now {rates}."
    if rival.was_likelier:
        why = f"By chance, to learn: {called} was more likely to be shown"
        return {"by_chance": True, "summary": f"{why}; {now}"}
    if rival.was_likelier is None and rival.is_worth_more and not always_best:
        why = f"By chance, to learn: {called} looks better by what is known now"
        return {"by_chance": True, "summary": f"{why}; {now}"}
    then = " at the time" if rival.is_worth_more else " by its value"
    worse = rival.is_worth_more or probability < other.click_probability
    return {"summary": f"It looked best{then if worse else ''}; {now}"}


def _percent(probability: float) -> str:
    return f"{100.0 * probability:.3g} %"


_ARMS = {
    "baseline": "The baseline shows the first candidate.",
    "imported": "It came with an imported log, and was not chosen here.",
}


#: Contrasts of each kind, the clearest; and weights beyond which they would take much memory.
_MOST, _MOST_WEIGHTS = 200, 2_000
TOO_WIDE = (
    f"More than {_MOST_WEIGHTS:,} weights are not compared with each other here; "
    "GET /v1/models/{model}/posterior lists each."
)


class Wanted(NamedTuple):
    """The contrasts of a schema as it is, to be told by a belief; they do not follow its growth."""

    contexts: list[rows_of.Contrast]
    items: list[rows_of.Contrast]
    pairs: list[rows_of.Pair]
    note: str | UnsetType = UNSET

    @classmethod
    def of(cls, schema: Schema) -> Wanted:
        """All of them; none if the schema is too wide."""
        if schema.width > _MOST_WEIGHTS:
            return cls([], [], [], TOO_WIDE)
        found = schema.contrasts()
        return cls(found.by_role("context"), found.by_role("item"), list(found.pairs()))

    def told(self, belief: Gaussian) -> dict[str, Any]:
        """What a belief about as many weights says."""
        return {
            "note": self.note,
            "contexts": _clearest(_plain(self.contexts, belief), _clarity),
            "items": _clearest(_plain(self.items, belief), _clarity),
            "pairs": _clearest(_paired(self.pairs, belief), _apartness),
        }


def _plain(wanted: Sequence[rows_of.Contrast], belief: Gaussian) -> Iterable[ContrastView]:
    laws = _laws([each.row for each in wanted], belief)
    for (feature, level, step, _), (mean, sd) in zip(wanted, laws, strict=True):
        yield ContrastView(feature=feature, level=level, step=step, mean=mean, sd=sd)


def _paired(wanted: Sequence[rows_of.Pair], belief: Gaussian) -> Iterable[ContrastView]:
    laws = _laws([each.contrast.row for each in wanted], belief)
    beside = _laws([each.apart for each in wanted], belief)
    for pair, (mean, sd), (apart, apart_sd) in zip(wanted, laws, beside, strict=True):
        yield ContrastView(
            feature=pair.contrast.feature,
            level=pair.contrast.level,
            step=pair.contrast.step,
            context=pair.context,
            context_level=pair.within,
            mean=mean,
            sd=sd,
            apart=apart,
            apart_sd=apart_sd,
        )


def _laws(rows: Sequence[FloatArray], belief: Gaussian) -> list[tuple[float, float]]:
    """Mean and sd of each row times the weights, without columns that grew elsewhere just now."""
    if not rows:
        return []
    both = min(rows[0].size, belief.dimension)
    stacked = np.array(rows)[:, :both]
    spread, means = stacked @ belief.root[:both], stacked @ belief.mean[:both]
    sds = np.sqrt(np.einsum("ij,ij->i", spread, spread))
    return list(zip(means.tolist(), sds.tolist(), strict=True))


def _clearest(
    found: Iterable[ContrastView], clarity: Callable[[ContrastView], float]
) -> list[ContrastView]:
    return sorted(found, key=clarity, reverse=True)[:_MOST]


def _clarity(each: ContrastView) -> float:
    return abs(each.mean) / each.sd if each.sd else 0.0


def _apartness(each: ContrastView) -> float:
    return abs(each.apart) / each.apart_sd if each.apart_sd else 0.0

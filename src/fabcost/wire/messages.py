"""What is asked and answered: the bodies of the native API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fabcost.wire.settings import ModelSettings

#: How long a server takes at most for whole models, logs and catalogues.
TRANSFER_SECONDS = 600.0
LONGEST_ID = 256
#: Of values and costs.
LARGEST_AMOUNT = 1e9
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
# Python's $ would let a newline follow.
ModelName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)")]
Scalar = str | bool | int | float | None
Record = dict[str, Scalar]
Amount = Annotated[float, Meta(ge=-LARGEST_AMOUNT, le=LARGEST_AMOUNT)]
ClickValue = Annotated[float, Meta(ge=0.0, le=LARGEST_AMOUNT)]
Arm = Literal["bandit", "holdback", "baseline", "imported"]
#: applied: learnt at once; recorded: kept until its deadline (aggregations other than earliest);
#: duplicate: the decision was answered before; late: after its deadline; parked: no such decision
#: yet; ignored: the model does not learn in its mode.
FeedbackStatus = Literal["applied", "recorded", "duplicate", "late", "parked", "ignored"]
#: Of the file of a log; dsjson is what Vowpal Wabbit reads.
LogFormat = Literal["jsonl", "parquet", "dsjson"]
MEDIA_TYPES: dict[LogFormat, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dsjson": "application/x-ndjson",
}


class Between(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers from ``min`` to ``max``, both included."""

    min: float | None = None
    max: float | None = None


Filter = dict[str, str | bool | float | list[str] | Between]


class DecisionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask which item to show in a context.

    Candidates are given inline with their features, or by ``items``, ids of the catalogue, or by a
    ``filter`` over the features of the catalogue; without any of these all of it competes.
    A request with the id of an earlier decision is answered with that decision.
    With ``values``, of a click on each item, or ``costs``, of showing it, the rule compares
    value · P(click) − cost; they come before the model's ``value_feature`` and ``cost_feature``.
    """

    decision_id: Id | None = None
    context: Record = {}
    candidates: dict[Id, Record] | None = None
    items: list[Id] | None = None
    filter: Filter | None = None
    exclude: list[Id] = []
    top_k: Annotated[int, Meta(ge=1, le=10_000)] = 1
    deferred: bool = False
    values: dict[Id, ClickValue] | None = None
    costs: dict[Id, Amount] | None = None


class DecisionAnswer(Struct, frozen=True, kw_only=True):
    """The chosen item first, then the best of the others.

    ``scores`` and ``propensities`` belong to the items of ``ranking``, which is in the order of the
    scores, unless a floor or the holdback put another item first.  ``durable`` is false if the
    answer was given from memory while the database was away.
    """

    decision_id: str
    item: str
    ranking: list[str]
    scores: list[float]
    propensities: list[float] | None
    arm: Arm
    posterior_version: str
    deadline: float
    durable: bool = True


class FeedbackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a decision; the same ``key`` again is the same feedback again.

    Where the model learns values as fractions, ``value`` must lie between the ends that it has.
    """

    decision_id: Id
    value: Annotated[float, Meta(ge=-1e6, le=1e6)] = 1.0
    key: Annotated[str, Meta(max_length=LONGEST_ID)] = ""


class FeedbackAnswer(Struct, frozen=True):
    """What became of feedback."""

    decision_id: str
    status: FeedbackStatus


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """A model as it is now; ``degraded`` says why it is not served in full, if it is not."""

    name: str
    settings: ModelSettings
    created: float
    edited: float
    weights: int
    items: int
    impressions: int
    posterior_version: str
    degraded: str | None = None


class Weight(Struct, frozen=True):
    """One weight of the posterior."""

    name: str
    mean: float
    sd: float


class PosteriorAnswer(Struct, frozen=True, kw_only=True):
    """The posterior; ``digest`` is the SHA-256 of its mean and root, for comparing bits.

    The weights of a wide belief are not listed, and ``note`` says why.
    """

    posterior_version: str
    impressions: int
    digest: str
    weights: list[Weight]
    note: str | UnsetType = UNSET


class Contrast(Struct, frozen=True, kw_only=True):
    """What a level adds to the log-odds beside the mean of its feature's levels.

    Without a ``level``: what a number adds that is ``step`` larger, or what true does.  In a
    ``context`` it is what it adds there, and ``apart`` how far that is from its mean over all
    levels of that feature of the context.
    """

    feature: str
    level: str
    mean: float
    sd: float
    step: float = 0.0
    context: str = ""
    context_level: str = ""
    apart: float = 0.0
    apart_sd: float = 0.0


class ContrastsAnswer(Struct, frozen=True, kw_only=True):
    """What was learnt of visitors, of items, and of what visitors like, the clearest first.

    Where weights are not listed ``note`` says why.
    """

    posterior_version: str
    impressions: int
    contexts: list[Contrast]
    items: list[Contrast]
    pairs: list[Contrast]
    note: str | UnsetType = UNSET


class Contribution(Struct, frozen=True):
    """What one column adds to the score of the chosen item: its value times its weight."""

    name: str
    value: float
    weight: float
    sd: float
    contribution: float


class DecisionView(Struct, frozen=True, kw_only=True):
    """A decision as it was recorded, and what became of it.

    ``click_value`` and ``cost`` are those of the item that was chosen, ``item_name`` its name in
    the catalogue, if it has one.
    """

    decision_id: str
    item: str
    arm: str
    made: float
    deadline: float
    context: Record
    candidates: list[str]
    excluded: list[str]
    ranking: list[str]
    scores: list[float]
    propensities: list[float] | None
    posterior_version: str
    would_choose: str | None
    deferred: bool
    resolved: float | None
    outcome: str | None
    value: float | None
    applied_lsn: int | None
    click_value: float = 1.0
    cost: float = 0.0
    item_name: str | UnsetType = UNSET


class DecisionsAnswer(Struct, frozen=True):
    """The latest decisions, newest first; ``next`` is what to ask ``before`` for older ones."""

    decisions: list[DecisionView]
    next: int | None


class RunnerUp(Struct, frozen=True, kw_only=True):
    """The likeliest of the candidates that were not shown, by what is known now.

    ``differences`` are what each column adds to the log-odds of the chosen item beyond those of
    this one; ``chosen_is_better`` is the probability that their sum is above 0.
    """

    item: str
    click_probability: float
    chosen_is_better: float
    differences: list[Contribution]


class ExplanationAnswer(Struct, frozen=True, kw_only=True):
    """Why an item was chosen: its columns under the posterior of now, and the runner-up's.

    ``by_chance`` is true if another was likelier to be shown: by the propensities of the decision,
    or, where it has none, by what is expected now.
    """

    decision: DecisionView
    posterior_version: str
    click_probability: float
    contributions: list[Contribution]
    summary: str = ""
    by_chance: bool = False
    runner_up: RunnerUp | None = None


class StatsBucket(Struct, frozen=True, kw_only=True):
    """Counts of an arm in so many ``seconds``: a minute, or less of the first ones of a model.

    ``clicks`` are rewards above the threshold; ``rewards`` is the sum of what is learnt of them,
    which is the same where values are clicks.  ``income`` is the sum of reward · value − cost.
    """

    start: float
    arm: str
    decisions: int
    impressions: int
    clicks: int
    log_loss: float
    entropy: float
    rewards: float
    income: float
    predicted: float = 0.0
    seconds: float = 60.0


class CalibrationBin(Struct, frozen=True, kw_only=True):
    """Impressions whose predicted log-odds of a click lay from ``bin`` to ``bin + 1``.

    ``predicted`` is the sum of their predicted click probabilities.
    """

    bin: int
    impressions: int
    predicted: float
    clicks: int
    rewards: float


class ItemEffect(Struct, frozen=True):
    """The effect of an item beside its features."""

    mean: float
    sd: float


class ItemTally(Struct, frozen=True, kw_only=True):
    """How often an item was chosen, and what became of it.

    ``effect`` is what is known of its own effect on the log-odds, where items have any; ``name``
    and ``image`` are those of the catalogue, where it has them.
    """

    item: str
    decisions: int
    impressions: int
    clicks: int
    rewards: float
    income: float
    effect: ItemEffect | UnsetType = UNSET
    name: str | UnsetType = UNSET
    image: str | UnsetType = UNSET


class AlarmView(Struct, frozen=True):
    """One thing that is wrong with the data of a model; `fabcost.recommend.alarms` has the kinds.

    ``subject`` is the feature, or empty where it is about all; ``text`` says what was seen and
    what to do.
    """

    kind: str
    subject: str
    text: str


class LiftView(Struct, frozen=True, kw_only=True):
    """What the bandit gains over the arm beside it, since the settings were changed last.

    ``value`` is the ratio of the click rates less one, from ``low`` to ``high`` with confidence
    ``level`` at every moment at once; null is not known, or no end.  ``gained`` are those of the
    bandit's clicks (or fractions of one) that the other arm would not have had of as many
    impressions.
    ``share`` is the other arm's of the impressions; ``share_p`` is how plausible that is for the
    one that was planned, at every moment at once: a tiny one says that outcomes of one arm get
    lost, and that the lift cannot be trusted.
    """

    over: str
    impressions: int
    clicks: float
    impressions_beside: int
    clicks_beside: float
    level: float
    value: float | None
    low: float
    high: float | None
    verdict: str
    gained: float | None
    gained_low: float | None
    gained_high: float | None
    share: float
    planned_share: float | None
    share_p: float | None


class Foretold(Struct, frozen=True, kw_only=True):
    """Clicks that were predicted of an arm's impressions, summed, and those that came."""

    impressions: int
    predicted: float
    rewards: float


class StatsAnswer(Struct, frozen=True, kw_only=True):
    """What a dashboard shows of a model; ``income`` is that of all outcomes, by arm.

    ``foretold`` is by arm, of minutes whose outcomes are known: the bandit's says how much is
    promised of what it chooses, that of a holdback how much of anything.
    """

    model: str
    mode: str
    now: float
    posterior_version: str
    posterior_published: float
    impressions: int
    weights: int
    decisions: int
    pending: int
    learner_lag: int
    refreshing: bool
    learning_failed: bool
    refreshes: int
    last_refresh_seconds: float
    store_away: bool
    unwritten: int
    feedback: dict[str, int]
    buckets: list[StatsBucket]
    calibration: list[CalibrationBin]
    top_items: list[ItemTally]
    alarms: list[AlarmView] = []
    lift: LiftView | None = None
    income: dict[str, float] = {}
    foretold: dict[str, Foretold] = {}


class Items(Struct, frozen=True, forbid_unknown_fields=True):
    """Items of a catalogue by id."""

    items: Annotated[dict[Id, Record], Meta(min_length=1)]


class ItemsAnswer(Struct, frozen=True, kw_only=True):
    """One page of a catalogue; ``next`` is the id to ask after, if there are more."""

    version: int
    items: dict[str, dict[str, Any]]
    next: str | None

"""What people are shown of a model: counts, contrasts, alarms, and what the bandit gains."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class ContrastView(Struct, frozen=True, kw_only=True):
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
    contexts: list[ContrastView]
    items: list[ContrastView]
    pairs: list[ContrastView]
    note: str | UnsetType = UNSET


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
    """One thing that is wrong with a model; `fabcost.recommend.alarms` has those of data.

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

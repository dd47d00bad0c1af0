"""What one arm gains over another, with intervals that hold at every moment one looks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fabcost.impressions import FloatArray

_SIZES = 2.0 ** np.arange(-11.0, 4.0)
_TILTS = np.concatenate([-_SIZES, _SIZES])
_GROWTH = np.expm1(_TILTS)
_LARGEST = 1e9  # ratio of rates beyond which no end of an interval is looked for
_HALVINGS = 28
_REACH, _ZOOMS = 30.0, 6  # log-odds of the larger rate, and how often its grid is made finer
_PLACES = np.linspace(-1.0, 1.0, 33)


@dataclass(frozen=True)
class Arm:
    """Clicks of so many impressions.

    Examples
    --------
    >>> Arm(clicks=3, impressions=40).rate
    0.075
    """

    clicks: float
    impressions: float

    def __post_init__(self) -> None:
        if not 0 <= self.clicks <= self.impressions < math.inf:
            raise ValueError(
                f"there are {self.clicks} clicks of {self.impressions} impressions but there "
                "must be at least none and at most one of each"
            )

    @property
    def rate(self) -> float:
        """Clicks of each impression; NaN without any."""
        return self.clicks / self.impressions if self.impressions else math.nan


@dataclass(frozen=True)
class Lift:
    """The ratio of two click rates with the ends of its interval, less one.

    Attributes
    ----------
    value
        NaN where the other arm has no click, or one has no impression.
    low, high
        Ends of the interval; the upper one is infinite while the other rate may be zero.
    level
        The probability that the interval holds the truth at every moment.

    Examples
    --------
    >>> Lift(value=0.5, low=0.1, high=1.2, level=0.95).verdict
    'better'
    """

    value: float
    low: float
    high: float
    level: float

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``not known yet``."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "not known yet"

    def gained(self, clicks: float) -> tuple[float, float, float]:
        """Of so many clicks those that the other arm would not have had, and the interval's ends.

        Examples
        --------
        >>> Lift(value=1.0, low=0.25, high=4.0, level=0.95).gained(100)
        (50.0, 20.0, 80.0)
        """
        value, low, high = (_gained(clicks, lift) for lift in (self.value, self.low, self.high))
        return value, low, high


def _gained(clicks: float, lift: float) -> float:
    if lift == -1.0:
        return -math.inf if clicks else 0.0
    return clicks if lift == math.inf else clicks * lift / (1.0 + lift)


def lift(ours: Arm, theirs: Arm, *, level: float = 0.95) -> Lift:
    r"""A confidence sequence for the ratio of two click rates, minus one.

    Look after every impression, stop when you like: with probability ``level`` no interval of all
    misses.  Rates are means of the probabilities that each arm's impressions had, which may change
    from one to the next, as those of a bandit that learns do; outcomes between 0 and 1 will do.

    With a tilt λ an arm makes a martingale, :math:`\prod_i e^{\lambda y_i} / (1 - p_i +
    p_i e^\lambda)`; their mean in place of all :math:`p_i` makes it only smaller, by Jensen's
    inequality.  A ratio r is outside where the product of both arms' means over 30 tilts exceeds
    1 / (1 − level), for every rate q of theirs and rq of ours (Ville's inequality).

    Parameters
    ----------
    ours, theirs
        Counts of both arms.
    level
        Of the confidence sequence.

    References
    ----------
    Ville, *Étude critique de la notion de collectif* (1939); Robbins, "Statistical methods related
    to the law of the iterated logarithm" (1970); Howard, Ramdas, McAuliffe & Sekhon,
    "Time-uniform, nonparametric, nonasymptotic confidence sequences" (2021).

    Examples
    --------
    >>> found = lift(Arm(400, 4000), Arm(20, 400))
    >>> found.verdict, round(found.value, 2), round(found.low, 2), round(found.high, 2)
    ('not known yet', 1.0, -0.07, 4.42)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level} but must lie between 0 and 1")
    value = ours.rate / theirs.rate if theirs.clicks else math.nan
    limit = -math.log1p(-level)

    def is_inside(ratio: float) -> bool:
        return _least_evidence(ratio, ours, theirs) <= limit

    start = _most_likely(ours, theirs)
    low, high = (_end(is_inside, start, end) for end in (1.0 / _LARGEST, _LARGEST))
    least = low - 1.0 if low > 1.0 / _LARGEST else -1.0
    return Lift(value - 1.0, least, high - 1.0 if high < _LARGEST else math.inf, level)


def imbalance(theirs: int, both: int, share: float) -> float:
    r"""How plausible it is that ``theirs`` of ``both`` are a random ``share``: an honest p-value.

    It is :math:`1 / \sum_k w_k e^{\lambda_k n} / (1 - h + h e^{\lambda_k})^N`, at most one, and
    holds whenever one looks: it falls to p or below, ever, with a probability of at most p.

    Examples
    --------
    >>> imbalance(100, 1000, 0.1)
    1.0
    >>> imbalance(160, 1000, 0.1) < 0.001
    True
    """
    if not 0 <= theirs <= both:
        raise ValueError(f"{theirs} of {both} were given but must be at least 0 and at most all")
    if not 0.0 < share < 1.0:
        raise ValueError(f"share is {share} but must lie between 0 and 1")
    evidence = _evidence(Arm(theirs, both), np.array([[share]]))
    return min(1.0, math.exp(-float(evidence[0])))


def _most_likely(ours: Arm, theirs: Arm) -> float:
    if not ours.clicks or not theirs.clicks:
        return 1.0 if ours.clicks == theirs.clicks else _LARGEST if ours.clicks else 1.0 / _LARGEST
    return min(max(ours.rate / theirs.rate, 1.0 / _LARGEST), _LARGEST)


def _end(is_inside: Callable[[float], bool], inside: float, outside: float) -> float:
    """The ratio between the two where the interval ends, or ``outside`` if it does not."""
    if is_inside(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = math.sqrt(inside * outside)
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return outside


def _least_evidence(ratio: float, ours: Arm, theirs: Arm) -> float:
    """The log of the martingales' product at the rates of that ratio where it is least."""
    middle, reach = 0.0, _REACH
    for _ in range(_ZOOMS):
        places = middle + reach * _PLACES
        larger = 1.0 / (1.0 + np.exp(-places[:, None]))
        evidence = _evidence(ours, larger * min(1.0, ratio))
        evidence += _evidence(theirs, larger * min(1.0, 1.0 / ratio))
        middle, reach = float(places[evidence.argmin()]), reach / 8.0
    return float(evidence.min())


def _evidence(arm: Arm, rate: FloatArray) -> FloatArray:
    """The log of the mean over the tilts of an arm's martingale, were that its mean rate."""
    return _log_mean(_TILTS * arm.clicks - arm.impressions * np.log1p(rate * _GROWTH))


def _log_mean(terms: FloatArray) -> FloatArray:
    top = terms.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(terms - top).mean(axis=-1)))

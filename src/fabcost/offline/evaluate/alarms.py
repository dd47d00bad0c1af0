"""What makes an estimate doubtful: weights that do not fit, choices that the log never made."""

from __future__ import annotations

from collections.abc import Iterator

from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.support import Support

# Honest weights average 1 within this many standard errors: 6 in 100,000 policies would not.
_WEIGHT_ALARM = 4.0
# What is uncovered moves ips by at most its share: less than this is not worth a warning.
_UNCOVERED = 0.001
_ROUNDING = 1e-9


def warnings_of(name: str, weight: Estimate, support: Support | None) -> Iterator[str]:
    """Complaints about the policy ``name``, whose weights average ``weight``.

    Examples
    --------
    >>> list(warnings_of("uniform", Estimate(0.5, 0.1, 0.3, 0.7, 0.95, 9.0, 9), None))[0][:43]
    'the weights of uniform average 0.5 instead '
    """
    expected = 1.0 if support is None else support.share
    leeway = _WEIGHT_ALARM * weight.standard_error if support is None else support.leeway()
    if abs(weight.value - expected) > leeway + _ROUNDING:
        yield (
            f"the weights of {name} average {weight.value:.3g} instead of {expected:.3g}: the "
            "propensities or the candidates do not fit this log"
        )
    if support is not None:
        yield from _uncovered(name, support)


def _uncovered(name: str, support: Support) -> Iterator[str]:
    decided = float(support.decided.mean())
    if 1.0 - decided > _UNCOVERED:
        yield (
            f"{name} has no candidate in {1.0 - decided:.1%} of the rounds: only snips and replay, "
            "which are of the others, mean anything"
        )
    if decided - support.share > _UNCOVERED:
        yield (
            f"{decided - support.share:.1%} of what {name} would choose had no chance in this log: "
            "ips counts it as no reward, snips and replay leave it out, dr and dm take the model's "
            "word for it; a floor above 0 gives every candidate a chance"
        )

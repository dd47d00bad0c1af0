"""What the paper says of its figures of posterior marginals, beside the measurements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.paper.methods import ADF, ADF_MACKAY, EP, EP_MACKAY, LAPLACE
from fabcost.paper.posteriors.results import Marginals
from fabcost.paper.report.claims import PaperClaim, Verdict

_POOR_SHIFT = 0.5
_GOOD_SHIFT, _GOOD_WIDTH = 0.1, 0.1
_RIGHT_WIDTH = 0.1


def claims(part: Marginals) -> list[PaperClaim]:
    """The claims of both figures; Laplace's widths one by one."""
    marginal = part.sd[part.methods.index(LAPLACE)]
    return [
        _adf_is_slow(part),
        _ep_is_accurate(part),
        _width(part, marginal, "√(H⁻¹)ⱼⱼ, the marginal width", "this is Laplace's own width"),
        _width(
            part,
            part.conditional,
            "1/√Hⱼⱼ, the width in the authors' plots",
            "this is the width of a weight when all others are known, not that of its marginal",
        ),
    ]


def _adf_is_slow(part: Marginals) -> PaperClaim:
    """Holds if ADF starts more than half an sd off and ends closer."""
    last = len(part.sizes) - 1
    slow = {
        name: part.shift(name, 0) > _POOR_SHIFT and part.shift(name, last) < part.shift(name, 0)
        for name in (ADF, ADF_MACKAY)
    }
    verdict: Verdict = "partly" if any(slow.values()) else "not reproduced"
    if all(slow.values()):
        verdict = "reproduced"
    return PaperClaim(
        where="figure of EP and ADF",
        claim="ADF approximates the posterior very poorly unless it has seen enough data",
        paper="ADF makes a very poor approximation unless it is trained on sufficient data",
        measured=f"off after {part.sizes[0]:,} and {part.sizes[-1]:,} impressions by "
        + ", by ".join(
            f"{part.shift(name, 0):.2g} and {part.shift(name, last):.2g} sds ({name})"
            for name in slow
        ),
        verdict=verdict,
        reason=f"poor is more than {_POOR_SHIFT} posterior sds, rms over the weights, after "
        f"{part.sizes[0]:,}, and less at the end: exact moments: {_yes(slow[ADF])}, the paper's: "
        f"{_yes(slow[ADF_MACKAY])}",
        seconds=part.seconds,
        details=_shifts(part, slow),
        main=True,
    )


def _ep_is_accurate(part: Marginals) -> PaperClaim:
    """Holds with the paper's moments if both errors are below a tenth, besides NUTS's own."""
    truth = part.truth[0]
    own = float(np.sqrt(np.mean((truth.mean_error / truth.sd) ** 2)))
    own_width = float(np.sqrt(np.mean((truth.sd_error / truth.sd) ** 2)))
    good = {
        name: part.shift(name, 0) < _GOOD_SHIFT + 2.0 * own
        and part.width(name, 0) < _GOOD_WIDTH + 2.0 * own_width
        for name in (EP, EP_MACKAY)
    }
    verdict: Verdict = "partly" if any(good.values()) else "not reproduced"
    if all(good.values()):
        verdict = "reproduced"
    off = [
        f"{part.shift(name, 0):.2g} sds and {part.width(name, 0):.1%} of the width ({name})"
        for name in good
    ]
    return PaperClaim(
        where="figure of EP and ADF",
        claim=f"EP is accurate even on the first {part.sizes[0]:,} impressions",
        paper="EP makes an accurate approximation even on the first 1,000 data points",
        measured=f"off by {', by '.join(off)}",
        verdict=verdict,
        reason=f"accurate is below {_GOOD_SHIFT} posterior sds and {_GOOD_WIDTH:.0%} of the sds, "
        f"besides twice the sampler's own error ({own:.3f} sds); "
        f"exact moments: {_yes(good[EP])}, the paper's: {_yes(good[EP_MACKAY])}",
        seconds=part.seconds,
        details=_shifts(part, good),
        main=True,
    )


def _yes(good: bool) -> str:
    return "yes" if good else "no"


def _shifts(part: Marginals, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _shift_text(part, name)) for name in names)


def _shift_text(part: Marginals, name: str) -> str:
    shifts = (f"{part.shift(name, k):.2g} after {size:,}" for k, size in enumerate(part.sizes))
    return f"off by {', '.join(shifts)} (posterior sds)"


def _width(part: Marginals, sd: FloatArray, formula: str, meaning: str) -> PaperClaim:
    """Fails at a size if the intercept's width is off by a tenth, besides NUTS's own error."""
    texts, wrong = [], 0
    for width, truth in zip(sd[:, 0], part.truth, strict=True):
        ratio = width / truth.sd[0]
        own = 2.0 * truth.sd_error[0] / truth.sd[0]
        wrong += abs(ratio - 1.0) > _RIGHT_WIDTH + own
        texts.append(f"{ratio:.2f} ± {ratio * own:.2f} after {truth.rows:,}")
    verdict: Verdict = "partly" if wrong else "not reproduced"
    if wrong == len(texts):
        verdict = "reproduced"
    return PaperClaim(
        where="figure of FAB-COST and Laplace",
        claim=f"Laplace fails to capture the true variance: {formula}",
        paper="the Laplace approximation fails to capture the true variance",
        measured=f"intercept, width over that of NUTS: {', '.join(texts)}",
        verdict=verdict,
        reason=f"off by more than {_RIGHT_WIDTH:.0%}, besides twice the sampler's error, at "
        f"{wrong} of {len(texts)} sizes; {meaning}",
        seconds=part.seconds,
    )

"""What the paper says of its figures of posterior marginals, beside the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabcost.impressions import FloatArray
from fabcost.offline.methods import (
    ADF,
    ADF_MACKAY,
    EP,
    EP_MACKAY,
    FAB_COST,
    FAB_COST_PAPER,
    LAPLACE,
)
from fabcost.paper.posteriors.measure import Marginals
from fabcost.paper.report.parts import Change, PaperClaim, verdict_of

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
    ends = {name: (part.shift(name, 0), part.shift(name, -1)) for name in (ADF, ADF_MACKAY)}
    slow = {name: first > _POOR_SHIFT and last < first for name, (first, last) in ends.items()}
    texts = [f"{first:.2g} and {last:.2g} sds ({name})" for name, (first, last) in ends.items()]
    return PaperClaim(
        where="figure of EP and ADF",
        claim="ADF approximates the posterior very poorly unless it has seen enough data",
        paper="ADF makes a very poor approximation unless it is trained on sufficient data",
        measured=f"off after {part.sizes[0]:,} and {part.sizes[-1]:,} impressions by "
        + ", by ".join(texts),
        verdict=verdict_of(sum(slow.values()), len(slow)),
        reason=f"poor is more than {_POOR_SHIFT} posterior sds, rms over the weights, after "
        f"{part.sizes[0]:,}, and less at the end: {_by_moments(slow)}",
        seconds=part.seconds,
        details=_shifts(part, slow),
        main=True,
    )


def _ep_is_accurate(part: Marginals) -> PaperClaim:
    """Holds with the paper's moments if both errors are below a tenth, besides NUTS's own."""
    own, own_width = part.noise(0)
    off = {name: (part.shift(name, 0), part.width(name, 0)) for name in (EP, EP_MACKAY)}
    good = {
        name: shift < _GOOD_SHIFT + 2.0 * own and width < _GOOD_WIDTH + 2.0 * own_width
        for name, (shift, width) in off.items()
    }
    texts = [
        f"{shift:.2g} sds and {width:.1%} of the width ({name})"
        for name, (shift, width) in off.items()
    ]
    return PaperClaim(
        where="figure of EP and ADF",
        claim=f"EP is accurate even on the first {part.sizes[0]:,} impressions",
        paper="EP makes an accurate approximation even on the first 1,000 data points",
        measured=f"off by {', by '.join(texts)}",
        verdict=verdict_of(sum(good.values()), len(good)),
        reason=f"accurate is below {_GOOD_SHIFT} posterior sds and {_GOOD_WIDTH:.0%} of the sds, "
        f"besides twice the sampler's own error ({own:.3f} sds); {_by_moments(good)}",
        seconds=part.seconds,
        details=_shifts(part, good),
        main=True,
    )


def _by_moments(held: Mapping[str, bool]) -> str:
    exact, mackay = ("yes" if each else "no" for each in held.values())
    return f"exact moments: {exact}, the paper's: {mackay}"


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
    return PaperClaim(
        where="figure of FAB-COST and Laplace",
        claim=f"Laplace fails to capture the true variance: {formula}",
        paper="the Laplace approximation fails to capture the true variance",
        measured=f"intercept, width over that of NUTS: {', '.join(texts)}",
        verdict=verdict_of(wrong, len(texts)),
        reason=f"off by more than {_RIGHT_WIDTH:.0%}, besides twice the sampler's error, at "
        f"{wrong} of {len(texts)} sizes; {meaning}",
        seconds=part.seconds,
    )


def changes(part: Marginals) -> list[Change]:
    """The default learner's marginals beside those of the paper's."""
    return [
        Change(
            "Belief at the cold start",
            "Exact moments of a site instead of MacKay’s approximation, and the prior as a factor "
            "that stays",
            _beside_the_papers(part, 0),
        ),
        Change(
            "Belief when data are many",
            "EP whenever the data have grown by a tenth instead of at 100 and 10,000",
            _beside_the_papers(part, -1),
        ),
    ]


def _beside_the_papers(part: Marginals, size: int) -> str:
    texts = [
        f"{part.shift(method, size):.2g} sds in the mean and {part.width(method, size):.1%} in the "
        f"width for {name}"
        for method, name in ((FAB_COST, "our default"), (FAB_COST_PAPER, "the paper’s FAB-COST"))
    ]
    own, own_width = part.noise(size)
    return (
        f"error after {part.sizes[size]:,} impressions: {', '.join(texts)}; the sampler that they "
        f"are compared with errs itself by {own:.2g} sds and {own_width:.1%}"
    )

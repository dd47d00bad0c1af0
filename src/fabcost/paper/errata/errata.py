"""The errata of the paper and of the notebooks published with it: one list for page and report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fabcost.paper.engine.units import Result
from fabcost.paper.errata import demonstrations
from fabcost.paper.errata.demonstrations import Shown


class Erratum(NamedTuple):
    """One error: what is printed or programmed, what is right, and what the difference makes."""

    title: str
    printed: str
    right: str
    found: str  # by which check, so that it can be found again
    demonstration: Callable[[], Shown]
    changes: str  # what it showed, with a place for each of its numbers


ERRATA = (
    Erratum(
        title="The factor in B",
        printed="Equation 16 has 1/κ² in B.",
        right="κ², which the derivative of log Z gives and the notebooks use; so does "
        'moments="mackay" here.',
        found="Finite differences of MacKay's log Z disagree with the printed B and agree with κ².",
        demonstration=demonstrations.factor_in_b,
        changes="At a cavity of mean 1.5 and variance 4, before a click, B along x is {right:.4f} "
        "by κ², {numerical:.4f} by finite differences and {printed:.4f} as printed. The variance "
        "after the click would be {variance_printed:.2f} instead of {variance_right:.2f}: as "
        "printed, the update can make a variance negative.",
    ),
    Erratum(
        title="Labels",
        printed="The outcomes are introduced as 0 and 1, which equation 3 needs.",
        right="The sites σ(yθᵀx) need −1 and +1. Here either is accepted, and −1/+1 is computed "
        "with.",
        found="With y = 0 in equation 16 both α and B are zero, so a non-click changes nothing.",
        demonstration=demonstrations.labels,
        changes="Where {clicked:.1%} of 2,000 simulated impressions are clicked, the paper's "
        "filtering predicts {predicted:.1%} with labels −1 and +1, and {predicted_from_zeros:.1%} "
        "with 0 and 1: a non-click tells it nothing.",
    ),
    Erratum(
        title="The prior in EP",
        printed="The notebooks' EP has no factor for the prior: every site begins as a copy of "
        "it, and what is replaced is gone.",
        right="Algorithm 3 begins with q = N(μ₀, Σ₀). The prior is a fixed factor here, and sites "
        "begin flat.",
        found="After one sweep every site has rank one, and two different priors lead to the same "
        "posterior.",
        demonstration=demonstrations.prior_in_ep,
        changes="On 100 impressions of the authors' design (three of its weights), prior variances "
        "100 and 0.1 lead to posterior means that are {kept:.1f} sds apart when the prior is kept, "
        "and {spread:.1f} sds apart when it is spread over the sites: the posterior does not "
        "depend on the prior. This matters most when data are few.",
    ),
    Erratum(
        title="The Laplace baseline",
        printed="The notebooks' Laplace bandit passes its fitted precision on as the next prior "
        "precision, and refits all rows around a mean of zero: rows are counted again at every "
        "round.",
        right="Either all rows with the first prior, or the new rows with the last posterior. "
        "Both are here (fabcost.inference.laplace.fit and fit_online), and so is the published "
        "one (fit_as_published), for reproduction only.",
        found="The precision grows with the square of the number of impressions; it should grow in "
        "proportion.",
        demonstration=demonstrations.runaway,
        changes="From 100 to 400 impressions of the authors' design the precision grows like n to "
        "the power {growth_published:.2f}, where a correct one grows like n to the power "
        "{growth_correct:.2f}. At 400 it is {excess:.0f} times too high, and the weights have "
        "{weights_left:.1%} of their length. The paper's gain in clicks is measured against this "
        "baseline; the reproduction measures it against both.",
    ),
    Erratum(
        title="Widths in the posterior plots",
        printed="For Laplace the notebooks plot 1/√H_jj, the sd of a weight given all others.",
        right="The marginal sd √(H⁻¹)_jj, which is never smaller; fabcost.gaussian.Gaussian.sd "
        "is this one for every method.",
        found="The two widths are computed from the same Hessian and compared.",
        demonstration=demonstrations.widths,
        changes="On 2,000 impressions of the simulated day of car adverts the conditional width is "
        "{smallest:.1%} to {largest:.1%} of the marginal one, depending on the weight. Part of the "
        "width that Laplace seems to miss is this difference.",
    ),
    Erratum(
        title="Ties",
        printed="The notebooks' argmax over the pool takes the lowest index among equal scores.",
        right="Ties are decided at random (fabcost.bandit.pool.pool.Pool), so that the order of "
        "the log tells nothing.",
        found="On a log sorted by outcome, with features that tell nothing about it, a policy has "
        "more clicks than chance allows.",
        demonstration=demonstrations.ties,
        changes="On a log of 1,000 impressions, clicks first, whose features tell nothing, "
        "Thompson sampling has {lowest} clicks in 100 rounds with ties to the lowest index, and "
        "{at_random} with ties at random; {expected:.0f} are expected of any policy.",
    ),
    Erratum(
        title="The newest impression",
        printed="The notebooks' Laplace fit uses rows [0:t] after writing row t: it is one "
        "impression behind.",
        right="All rows, [0:t+1]; fabcost.inference.laplace.fit uses what it is given. The lag is "
        "kept in fit_as_published.",
        found="Turning the newest outcome round leaves the fit as it was.",
        demonstration=demonstrations.newest,
        changes="Turning the newest of 20 outcomes round moves the published fit by "
        "{published:.1f} sds and the correct one by {correct:.1f}.",
    ),
)


def rows() -> list[tuple[str, ...]]:
    """The errata as rows of texts; runs the demonstrations.

    Examples
    --------
    >>> [row[0] for row in rows()][:2]
    ['1. The factor in B', '2. Labels']
    """
    return [
        (
            f"{number}. {each.title}",
            each.printed,
            each.right,
            each.found,
            each.changes.format(**each.demonstration()),
        )
        for number, each in enumerate(ERRATA, start=1)
    ]


def demonstrate() -> Result:
    """The rows as the result of a unit."""
    return {"rows": rows()}

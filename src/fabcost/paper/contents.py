"""The parts of the paper that are reproduced, in its order, and what is told about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fabcost.paper.clicks import claims as click_claims
from fabcost.paper.clicks import measure as clicks
from fabcost.paper.clicks.figure import draw_bandits
from fabcost.paper.convergence import claims as convergence_claims
from fabcost.paper.convergence import measure as convergence
from fabcost.paper.convergence.figure import draw_convergence, draw_costs
from fabcost.paper.cost import claims as cost_claims
from fabcost.paper.cost import costs
from fabcost.paper.cost.figure import draw_cost
from fabcost.paper.engine.units import Result, Unit
from fabcost.paper.errata import errata
from fabcost.paper.posteriors import claims as posterior_claims
from fabcost.paper.posteriors import measure as posteriors
from fabcost.paper.posteriors.figure import EP_AND_ADF, FAB_COST_AND_LAPLACE, draw_marginals
from fabcost.paper.report.html import TextTable
from fabcost.paper.report.parts import Part, Plot

_MARGINALS = (
    "Panels, one for each number of impressions: a histogram of NUTS draws of the intercept, and "
    "over it the bell curves of "
)
_COST_CURVES = (
    "Six panels on logarithmic axes: error of the mean above, of the variance below, against "
    "flops as the paper counts them, flops of the rank-one form, and seconds"
)

POSTERIORS = Part(
    name="posteriors",
    title="Posterior marginals",
    introduction="What each method believes about one weight, the intercept, after more and more "
    "impressions of the day, beside draws of NUTS. A method is right if its curve covers the grey "
    "histogram, in place and in width.",
    units=posteriors.units,
    gather=posteriors.gather,
    claims=posterior_claims.claims,
    changes=posterior_claims.changes,
    plots=(
        Plot(
            name="ep-and-adf",
            draw=partial(draw_marginals, names=EP_AND_ADF),
            shows=_MARGINALS + "EP and ADF, each with exact moments and with MacKay’s.",
            caption="The paper’s first figure of posteriors. Early on, see how far ADF is from the "
            "grey draws while EP covers them; and that part of the distance comes from MacKay’s "
            "approximation of the moments, which is the paper’s, and part from filtering.",
        ),
        Plot(
            name="fab-cost-and-laplace",
            draw=partial(draw_marginals, names=FAB_COST_AND_LAPLACE),
            shows=_MARGINALS + "FAB-COST, ours and the paper’s, and of Laplace with two widths.",
            caption="The paper’s second figure of posteriors. The dotted curve has the width that "
            "the authors plot for Laplace, 1/√H; the dashed one has the marginal width. Compare "
            "both with the grey draws: the first is too narrow by construction (erratum 5).",
        ),
    ),
)
CONVERGENCE = Part(
    name="convergence",
    title="Convergence",
    introduction="How fast the errors of mean and variance fall as impressions accumulate, and "
    "what that accuracy costs: on the authors’ simulated design with six weights and on the day "
    "of car adverts with fifteen. Points are geometric means over independent data sets. In "
    "these curves EP runs in batch over everything seen so far, again and again, as in the paper.",
    units=convergence.units,
    gather=convergence.gather,
    claims=convergence_claims.claims,
    changes=convergence_claims.changes,
    plots=(
        Plot(
            name="convergence",
            draw=draw_convergence,
            shows="Four panels on logarithmic axes: error of the mean above, of the variance "
            "below, against impressions, for two data sets, with lines for six methods and guides "
            "of 1/T and 1/T².",
            caption="Slopes as fitted are in the panels; compare them with the guides. "
            "Where a line enters the grey area, the error is smaller than what is known of the "
            "truth. FAB-COST with two updates by EP touches EP’s line where it is updated and "
            "drifts away from there; the default, updated whenever the data have grown by a tenth, "
            "moves with the data.",
        ),
        Plot(
            name="cost-of-accuracy-day",
            draw=partial(draw_costs, name="day"),
            shows=_COST_CURVES + ", on the day of car adverts.",
            caption="Further down is more accurate, further left is cheaper. EP in batch is paid "
            "for on the right. The paper’s argument is that FAB-COST comes near EP’s accuracy at a "
            "cost near ADF’s. The paper does not count flops of Laplace, so it appears among the "
            "seconds only.",
        ),
        Plot(
            name="cost-of-accuracy-design",
            draw=partial(draw_costs, name="design"),
            shows=_COST_CURVES + ", on the authors’ design.",
            caption="The same on the authors’ design.",
        ),
    ),
)
COST = Part(
    name="cost",
    title="Costs",
    introduction="How long one site takes, how many sweeps EP needs, and how the cost of an online "
    "update grows. The paper writes both methods with D × D matrices; this library changes the "
    "belief along one direction for each site. Units that measure time have the machine to "
    "themselves, and methods take turns, so that ratios are more reliable than seconds.",
    units=costs.units,
    gather=costs.gather,
    claims=cost_claims.claims,
    changes=cost_claims.changes,
    plots=(
        Plot(
            name="costs",
            draw=draw_cost,
            shows="Three panels. Left: microseconds of one update or visit, on a logarithmic axis, "
            "for ADF and EP in matrix and rank-one form. Middle: distance of EP from its end "
            "against sweeps, one line for each number of impressions. Right: milliseconds of an "
            "online update against the number of impressions, for ADF and EP.",
            caption="Left: the matrix forms beside the rank-one forms; look how far EP is from ADF "
            "in each. Middle: where a line falls below the dotted one, EP has converged; few "
            "impressions take more sweeps. Right: ADF should stay flat and EP rise in proportion "
            "to all impressions so far.",
        ),
    ),
)
BANDITS = Part(
    name="bandits",
    title="Clicks",
    introduction="Every impression of a day can be shown once. A policy chooses the next, sees "
    "whether it was clicked, learns, and chooses again. All policies play the same days with the "
    "same random numbers, so they are compared day by day. The paper’s baseline is here twice: "
    "as in the published notebooks, where every round counts all earlier impressions again "
    "(erratum 4), and correct.",
    units=clicks.units,
    gather=clicks.gather,
    claims=click_claims.claims,
    changes=click_claims.changes,
    plots=(
        Plot(
            name="clicks",
            draw=draw_bandits,
            shows="Six panels against impressions shown. Left: clicks of five policies, and the "
            "lead of the paper’s FAB-COST over Laplace as published and over correct Laplace on "
            "one day. Middle and right: difference in clicks and in per cent, above against "
            "Laplace as published, below against correct Laplace.",
            caption="The upper row is the paper’s comparison, with its 16.1 % as a dotted line; "
            "the lower row has the same policies against a correct Laplace bandit. Compare "
            "the two rows. Shaded: 95 % intervals over the days. Lower left: a lead must vanish "
            "at the end of the day, when every impression has been shown.",
        ),
    ),
)
PARTS = (POSTERIORS, CONVERGENCE, COST, BANDITS)
ERRATA = Unit("errata", errata.demonstrate, weight=3.0)

_ERRATA_WIDTHS = (13, 21, 21, 17, 28)


def errata_table(results: Mapping[str, Result]) -> TextTable:
    """The errata, without the names of their tests."""
    columns = dict(zip(errata.HEADING, _ERRATA_WIDTHS, strict=False))
    rows = [row[: len(columns)] for row in results[ERRATA.name]["rows"]]
    return TextTable("What is printed, what is right, and what it changes", columns, rows)

"""The compiled loops.  Nothing outside this package is compiled.

Whatever reaches a posterior, a propensity or a choice is computed here, and its bits are a
function of this source and of the input: every sum has one order (`lanes`), every function is
made of sums, products, quotients and square roots (`functions`), no flag lets the compiler
change them, and no library is called that might.

A reader starts at `beliefs`, the ADF pass and the EP sweep; `sparse` has them for rows of which
most numbers are zero, `moments` the integrals of a site that these match, `counts` those of a row
that stands for many, `choosing` what a decision needs of a belief.
"""

from fabcost.compilation import announce_slow_compilation
from fabcost.kernels.ageing import age, half_power, own_age
from fabcost.kernels.beliefs import (
    NO_SUMS,
    absorb,
    adf_pass,
    counts_adf_pass,
    drawn,
    ep_summary,
    ep_sweep,
    ep_visits,
    lagging_adf_pass,
    marginals,
    numbered,
    own_absorb,
    own_adf_pass,
    own_counts_adf_pass,
)
from fabcost.kernels.choosing import (
    LANES,
    all_within,
    correct_own_law,
    count_drawn_wins,
    count_own_wins,
    count_wins,
    drawn_leaders,
    drawn_scores,
    drawn_shares,
    drawn_weights,
    drawn_worths,
    entropy,
    first_largest,
    fold,
    folded_law,
    folded_scores,
    largest_score,
    law,
    mix,
    nearly_best,
    own_law,
    own_scores,
    place_of,
    share_among_equals,
    worths_of,
)
from fabcost.kernels.clicks import click_moments
from fabcost.kernels.counts import counts_over_rows
from fabcost.kernels.functions import (
    asinh,
    bounded,
    make_normal,
    normal_quantile,
    sum_of_logs,
)
from fabcost.kernels.groups import group_rows
from fabcost.kernels.lagging import DENSE, LAG, put_rest_aside, settle
from fabcost.kernels.moments import predictions, sites_over_rows
from fabcost.kernels.normals import SEEDS, fresh_normals
from fabcost.kernels.products import (
    cholesky,
    inner,
    narrow,
    solve_lower,
    squares,
    times,
    times_own_transpose,
)
from fabcost.kernels.sparse import (
    covariance_of,
    inverse_of,
    sparse_absorb,
    sparse_adf_pass,
    sparse_gram,
    sparse_marginals,
    sparse_match,
    sparse_root_sweep,
    sparse_sum,
    sparse_sweep,
)
from fabcost.kernels.targets import (
    drawn_marginals,
    drawn_target_scores,
    least_ratio,
    moving_means,
    ratio_scores,
    regrets_and_gains,
    revealed,
    target_scores,
    target_shares,
)
from fabcost.kernels.wide import (
    added_up,
    are_rising,
    are_sound,
    count_wide_wins,
    crossed_hash,
    hashed_rows,
    sparse_times,
    wide_draw,
    wide_marginals,
    wide_pass,
)

__all__ = [
    "ARITHMETIC",
    "DENSE",
    "LAG",
    "LANES",
    "NO_SUMS",
    "SEEDS",
    "absorb",
    "added_up",
    "adf_pass",
    "age",
    "all_within",
    "are_rising",
    "are_sound",
    "asinh",
    "bounded",
    "cholesky",
    "click_moments",
    "correct_own_law",
    "count_drawn_wins",
    "count_own_wins",
    "count_wide_wins",
    "count_wins",
    "counts_adf_pass",
    "counts_over_rows",
    "covariance_of",
    "crossed_hash",
    "drawn",
    "drawn_leaders",
    "drawn_marginals",
    "drawn_scores",
    "drawn_shares",
    "drawn_target_scores",
    "drawn_weights",
    "drawn_worths",
    "entropy",
    "ep_summary",
    "ep_sweep",
    "ep_visits",
    "first_largest",
    "fold",
    "folded_law",
    "folded_scores",
    "fresh_normals",
    "group_rows",
    "half_power",
    "hashed_rows",
    "inner",
    "inverse_of",
    "lagging_adf_pass",
    "largest_score",
    "law",
    "least_ratio",
    "make_normal",
    "marginals",
    "mix",
    "moving_means",
    "narrow",
    "nearly_best",
    "normal_quantile",
    "numbered",
    "own_absorb",
    "own_adf_pass",
    "own_age",
    "own_counts_adf_pass",
    "own_law",
    "own_scores",
    "place_of",
    "predictions",
    "put_rest_aside",
    "ratio_scores",
    "regrets_and_gains",
    "revealed",
    "settle",
    "share_among_equals",
    "sites_over_rows",
    "solve_lower",
    "sparse_absorb",
    "sparse_adf_pass",
    "sparse_gram",
    "sparse_marginals",
    "sparse_match",
    "sparse_root_sweep",
    "sparse_sum",
    "sparse_sweep",
    "sparse_times",
    "squares",
    "sum_of_logs",
    "target_scores",
    "target_shares",
    "times",
    "times_own_transpose",
    "wide_draw",
    "wide_marginals",
    "wide_pass",
    "worths_of",
]

#: Raised whenever the same input gets other bits: what was computed before is not gone on with
#: where the bits are promised, but computed again.
ARITHMETIC = 1

announce_slow_compilation(__name__)

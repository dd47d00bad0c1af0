"""The compiled loops.  Nothing outside this package is compiled.

Whatever reaches a posterior, a propensity or a choice is computed here, and its bits are a
function of this source and of the input: every sum has one order (`lanes`), every function is
made of sums, products, quotients and square roots (`functions`), no flag lets the compiler
change them, and no library is called that might.

A reader starts at `beliefs`, the ADF pass and the visits of EP; `sparse` has them for rows of which
most numbers are zero, `moments` the integrals of a site that these match, `counts` those of a row
that stands for many, `choosing` what a decision needs of a belief.
"""

from fabcost.compilation import announce_slow_compilation
from fabcost.kernels.ageing import age, half_power, own_age
from fabcost.kernels.beliefs import (
    NO_COUNTS,
    NO_ITEMS,
    NO_SUMS,
    absorb,
    adf_pass,
    drawn,
    ep_summary,
    ep_visits,
    marginals,
    numbered,
)
from fabcost.kernels.choosing import (
    LARGEST_FEATURE,
    NO_EFFECTS,
    NOTHING,
    all_within,
    correct_own_law,
    count_own_wins,
    count_wins,
    drawn_leader,
    drawn_leaders,
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
    own_folded_law,
    own_law,
    own_scores,
    place_of,
    share_among_equals,
    worths_of,
)
from fabcost.kernels.counts import counts_over_rows
from fabcost.kernels.functions import asinh, bounded, make_normal, normal_quantile, sum_of_logs
from fabcost.kernels.groups import group_rows
from fabcost.kernels.lagging import DENSE, LAG, put_rest_aside, settle
from fabcost.kernels.moments import predictions, sites_over_rows
from fabcost.kernels.normals import SEEDS, fresh_normals
from fabcost.kernels.products import (
    cholesky,
    inner,
    is_lower,
    narrow,
    solve_lower,
    squares,
    times,
    times_own_transpose,
)
from fabcost.kernels.sparse import (
    PARTS,
    PENDING,
    covariance_rows,
    covariance_visits,
    factor_columns,
    fill_rows,
    inverse_of,
    sparse_absorb,
    sparse_adf_pass,
    sparse_gram,
    sparse_marginals,
    sparse_match,
    sparse_sum,
)
from fabcost.kernels.targets import (
    click_moments,
    drawn_marginals,
    drawn_target_leader,
    drawn_target_winner,
    inverse_roots,
    least_ratio,
    moving_means,
    own_target_scores,
    ratio_scores,
    regrets_and_gains,
    revealed,
    scattered_leaders,
    scattered_scores,
    scattered_story,
    target_scores,
    target_shares,
)
from fabcost.kernels.wide import (
    added_up,
    are_rising,
    are_sound,
    crossed_hash,
    hashed_rows,
    sparse_times,
    wide_draw,
    wide_law,
    wide_marginals,
    wide_pass,
)

#: Raised whenever the same input gets other bits: what was computed before is not gone on with
#: where the bits are promised, but computed again.
ARITHMETIC = 1

announce_slow_compilation(__name__)

r"""The value of a policy from a log that another policy wrote: estimators with intervals.

Round i of the log has a reward :math:`r_i` and the propensity :math:`p_i` of its logged action;
:math:`e_i` is the target's probability of that same action, and :math:`w_i = e_i / p_i`.  A reward
model adds :math:`q_i`, its prediction for the logged action, and
:math:`v_i = \sum_a \pi_e(a)\,q_i(a)`.
"""

from fabcost.offline.estimators.acceptance import LoggedRound, learning_replay, rejection
from fabcost.offline.estimators.cross_fitting import cross_fit
from fabcost.offline.estimators.intervals import FEW_CLICKS, LEVEL, RARE_CLICKS, Estimate
from fabcost.offline.estimators.weighting import direct, doubly_robust, ips, snips

__all__ = [
    "FEW_CLICKS",
    "LEVEL",
    "RARE_CLICKS",
    "Estimate",
    "LoggedRound",
    "cross_fit",
    "direct",
    "doubly_robust",
    "ips",
    "learning_replay",
    "rejection",
    "snips",
]

"""The compiled loops: moments of one site, the ADF pass, the EP sweeps.

Nothing outside this module is compiled.  A belief is carried as its mean and a square root
``root`` of its covariance (``Σ = root rootᵀ``, rows padded with zero columns to a multiple of
eight), changed one site at a time by Potter's rank-one form [1]_:

    f = rootᵀ x,   s² = fᵀf,   Σ − k (Σx)(Σx)ᵀ = root (I − k f fᵀ) rootᵀ,
    root ← root − γ (root f) fᵀ,   γ = k / (1 + √(1 − k s²)).

A product of a matrix with its transpose cannot leave the positive semi-definite cone, and it
represents covariances of condition up to 1e32 where the covariance itself stops at 1e16.

References
----------
.. [1] Bierman, Factorization Methods for Discrete Sequential Estimation (1977), ch. V.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fabcost.compilation import announce_slow_compilation

announce_slow_compilation(__name__)

# Reassociation lets dot products use vector registers; NaN and infinity keep their meaning.
FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
ROOT_HALF = math.sqrt(0.5)
PI_OVER_EIGHT = math.pi / 8.0

WIDE = 49.0  # cavity variance above which the step-function expansion takes over
NARROW = 0.43  # cavity sd below which the Gaussian, not the poles of σ, limits the step
NARROW_STEP = 0.855
NARROW_DROP = math.exp(-0.5 * NARROW_STEP**2)
CUT = 60.0  # where σ'(u) e^{u/2} is below 1e-12: end of the corrections to the step function
_abscissae, _weights = np.polynomial.legendre.leggauss(64)
CORRECTION_NODES = 0.5 * CUT * (_abscissae + 1.0)
CORRECTION_WEIGHTS = 0.5 * CUT * _weights
CORRECTION_TAIL = 1.0 / (1.0 + np.exp(CORRECTION_NODES))  # σ(−u)

LANES = 64  # draws of normals that are compared at once
SMALLEST_CAVITY = 1e-10  # share of the precision along x that must remain without the site
LARGEST_VARIANCE = 1e250


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def mackay_site(margin, variance):
    """MacKay's log Z ≈ log σ(κ m) and its derivatives; see `exact_site` for what is returned."""
    kappa = 1.0 / math.sqrt(1.0 + PI_OVER_EIGHT * variance)
    scaled = kappa * margin
    if scaled > 0.0:
        decay = math.exp(-scaled)
        z = 1.0 / (1.0 + decay)
        miss = decay * z
        log_scale = 0.0
    else:
        growth = math.exp(scaled)
        miss = 1.0 / (1.0 + growth)
        z = miss
        log_scale = scaled
    # Σ(ααᵀ − 2B)Σ with B = −(π/16) κ² (xᵀμ) x αᵀ, read along x.
    curvature = kappa * kappa * miss * (miss + PI_OVER_EIGHT * kappa * margin)
    return log_scale, z, kappa * miss, curvature


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def _trapezoid(margin, variance):
    """∫ σ(η) N(η; m, s²) dη and derivatives on an equispaced grid, for m ≥ −s²/2.

    Spacing h (in sds) balances the two limits of the rule's exponential convergence: the
    Gaussian, exp(−2π²/h²), and the poles of σ at ±iπ, exp(−2π²/(h s) + π²/(2s²)).
    Both exponentials on the grid are geometric recurrences.
    """
    sd = math.sqrt(variance)
    step = NARROW_STEP
    drop = NARROW_DROP
    if sd > NARROW:
        step = 2.0 * math.pi**2 * sd / ((28.0 + sd) * variance + 0.5 * math.pi**2)
        drop = math.exp(-0.5 * step * step)
    centre = math.exp(-margin)
    ratio = math.exp(-sd * step)
    inverse_ratio = 1.0 / ratio
    up = centre * ratio
    down = centre * inverse_ratio
    fall = drop * drop
    weight = drop
    z = 1.0 / (1.0 + centre)
    miss = centre * z
    first = z * miss
    second = first * miss
    total = 1.0
    for _ in range(int((6.6 + sd) / step) + 1):
        pair = 1.0 / ((1.0 + up) * (1.0 + down))
        z_up = pair * (1.0 + down)
        z_down = pair * (1.0 + up)
        miss_up = up * z_up
        miss_down = down * z_down
        z += weight * (z_up + z_down)
        first += weight * (z_up * miss_up + z_down * miss_down)
        second += weight * (z_up * miss_up * miss_up + z_down * miss_down * miss_down)
        total += 2.0 * weight
        drop *= fall
        weight *= drop
        up *= ratio
        down *= inverse_ratio
    slope = first / z
    # −(log Z)″ = E[r(1 − r)] − Var[r] under the tilted density, r = σ(−η).
    return z / total, slope, slope + slope * slope - 2.0 * second / z


@njit(cache=True, nogil=True)
def _mills_ratio(x):
    """Φ(−x)/φ(x) for x ≥ 0; Laplace's continued fraction where e^{x²/2} would be large."""
    if x < 5.0:
        return ROOT_HALF_PI * math.exp(0.5 * x * x) * math.erfc(x * ROOT_HALF)
    fraction = x
    for k in range(60, 0, -1):
        fraction = x + k / fraction
    return 1.0 / fraction


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def _below_step(tilt, variance):
    """E[σ], E[σ′], E[σ″] over N(0; m, s²), for m = −tilt·s² with 0 ≤ tilt ≤ ½ and large s.

    σ(η) is e^η on the left and 1 on the right, each a Mills ratio in closed form, less a
    correction that is gone after a few units of η, where the Gaussian hardly changes.
    """
    sd = math.sqrt(variance)
    excess = 0.0
    first = 0.0
    second = 0.0
    for k in range(CORRECTION_NODES.size):
        u = CORRECTION_NODES[k]
        tail = CORRECTION_TAIL[k]
        weight = CORRECTION_WEIGHTS[k] * math.exp(-0.5 * u * u / variance)
        rise = math.exp(tilt * u)
        bell = weight * tail * (1.0 - tail)
        excess += weight * tail * (math.exp((tilt - 1.0) * u) + 1.0 / rise)
        first += bell * (rise + 1.0 / rise)
        second += bell * (1.0 - 2.0 * tail) * 2.0 * math.sinh(tilt * u)
    closed = sd * (_mills_ratio(tilt * sd) + _mills_ratio((1.0 - tilt) * sd))
    return closed - excess, first, second


@njit(cache=True, nogil=True)
def _wide(margin, variance):
    """log-scale, Z, slope, curvature for m ≥ −s²/2 and large s, through `_below_step`."""
    tilt = abs(margin) / variance
    log_density = -0.5 * abs(margin) * tilt - 0.5 * math.log(variance) - HALF_LOG_TWO_PI
    if margin <= 0.0:
        z, first, second = _below_step(tilt, variance)
        slope = first / z
        return log_density, z, slope, slope * slope - second / z
    # Above the step: Z(m) = 1 − E(−m), with E, E′, E″ of the mirrored mean.
    if tilt <= 0.5:
        lower, first, second = _below_step(tilt, variance)
        density = math.exp(log_density)
        lower, first, second = density * lower, density * first, density * second
    elif tilt < 1.0:
        # E(−m) = e^{s²/2 − m} E(m − s²), and the tilted densities coincide.
        lower, first, second = _below_step(1.0 - tilt, variance)
        slope = first / lower
        share = math.exp(log_density) * lower
        second = share * (1.0 - 2.0 * slope + second / lower)
        first = share * (1.0 - slope)
        lower = share
    else:
        lower = math.exp(0.5 * variance - margin)
        first = lower
        second = lower
    z = 1.0 - lower
    slope = first / z
    return 0.0, z, slope, slope * slope + second / z


@njit(cache=True, nogil=True)
def exact_site(margin, variance):
    """(log scale, z, slope, curvature) of log Z at label-signed cavity mean and variance.

    Z = exp(log scale)·z = ∫ σ(η) N(η; m, s²) dη; slope = ∂ log Z/∂m; curvature = −∂² log Z/∂m².
    The identity σ(η) N(η; m, s²) = e^{m + s²/2} σ(−η) N(η; m + s², s²) mirrors the far lower
    half of the means onto the upper, where nothing underflows.
    """
    mirrored = margin < -0.5 * variance
    mean = -margin - variance if mirrored else margin
    if variance <= WIDE:
        z, slope, curvature = _trapezoid(mean, variance)
        log_scale = 0.0
    else:
        log_scale, z, slope, curvature = _wide(mean, variance)
    if mirrored:
        log_scale += margin + 0.5 * variance
        slope = 1.0 - slope
    # Log-concavity, and Var ≥ 1/E[−(log density)″], bound the curvature by [0, 1/(4 + s²)].
    return log_scale, z, slope, min(max(curvature, 0.0), 1.0 / (4.0 + variance))


@njit(cache=True, nogil=True)
def _site(margin, variance, exact):
    if exact:
        return exact_site(margin, variance)
    return mackay_site(margin, variance)


@njit(cache=True, nogil=True)
def sites_over_rows(margins, variances, exact):
    """Rows of (log Z, slope, curvature), one for each cavity marginal."""
    rows = np.empty((margins.size, 3))
    for i in range(margins.size):
        log_scale, z, slope, curvature = _site(margins[i], variances[i], exact)
        rows[i, 0] = log_scale + math.log(z)
        rows[i, 1] = slope
        rows[i, 2] = curvature
    return rows


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def _project(root, x, along):
    """along ← rootᵀ x, three rows at a time; returns xᵀ Σ x."""
    for j in range(along.size):
        along[j] = 0.0
    i = 0
    while i + 2 < x.size:
        first, second, third = x[i], x[i + 1], x[i + 2]
        for j in range(along.size):
            along[j] += first * root[i, j] + second * root[i + 1, j] + third * root[i + 2, j]
        i += 3
    while i < x.size:
        for j in range(along.size):
            along[j] += x[i] * root[i, j]
        i += 1
    return _dot(along, along)


@njit(cache=True, nogil=True, fastmath=FAST_MATH)
def _move(mean, root, along, step, shrink):
    """mean ← mean + step·Σx and root ← root − shrink·(Σx) alongᵀ, for along = rootᵀ x."""
    for i in range(mean.size):
        reach = 0.0
        for j in range(along.size):
            reach += root[i, j] * along[j]
        mean[i] += step * reach
        reach *= shrink
        for j in range(along.size):
            root[i, j] -= reach * along[j]


@njit(cache=True, nogil=True)
def adf_pass(mean, root, X, y, precision, shift, start, stop, exact):
    """One ADF step for each row of ``X[start:stop]``; returns how many steps were skipped.

    The site that each step implies is written to ``precision`` and ``shift`` unless empty.
    """
    along = np.zeros(root.shape[1])
    skipped = 0
    for i in range(start, stop):
        centre = _dot(X[i], mean)
        variance = _project(root, X[i], along)
        _, _, slope, curvature = _site(y[i] * centre, variance, exact)
        slope *= y[i]
        kept = 1.0 - curvature * variance
        sound = kept > 0.0 and variance * kept < LARGEST_VARIANCE
        if sound:
            _move(mean, root, along, slope, curvature / (1.0 + math.sqrt(kept)))
        else:
            skipped += 1
        if precision.size > 0:
            precision[i] = curvature / kept if sound else 0.0
            shift[i] = (slope + centre * curvature) / kept if sound else 0.0
    return skipped


@njit(cache=True, nogil=True)
def absorb(mean, root, X, precision, shift, start, stop):
    """Multiply the belief by the Gaussian sites of ``X[start:stop]``; returns those skipped."""
    along = np.zeros(root.shape[1])
    skipped = 0
    for i in range(start, stop):
        centre = _dot(X[i], mean)
        variance = _project(root, X[i], along)
        growth = 1.0 + precision[i] * variance
        if growth > SMALLEST_CAVITY and growth < LARGEST_VARIANCE:
            step = (shift[i] - precision[i] * centre) / growth
            shrink = precision[i] / growth / (1.0 + math.sqrt(1.0 / growth))
            _move(mean, root, along, step, shrink)
        else:
            skipped += 1
    return skipped


@njit(cache=True, nogil=True)
def ep_sweep(mean, root, X, y, precision, shift, exact):
    """One EP sweep over the sites of all rows; returns skipped visits and Σ log Cᵢ.

    Cᵢ is the factor that makes the site Cᵢ exp(νη − τη²/2) integrate to Zᵢ over its cavity.
    """
    along = np.zeros(root.shape[1])
    skipped = 0
    log_factors = 0.0
    product = 1.0
    for i in range(y.size):
        centre = _dot(X[i], mean)
        variance = _project(root, X[i], along)
        left = 1.0 - precision[i] * variance
        if not (left > SMALLEST_CAVITY and variance < LARGEST_VARIANCE * left):
            skipped += 1
            continue
        cavity_variance = variance / left
        cavity_mean = (centre - shift[i] * variance) / left
        log_scale, z, slope, curvature = _site(y[i] * cavity_mean, cavity_variance, exact)
        slope *= y[i]
        kept = 1.0 - cavity_variance * curvature
        new_precision = curvature / kept
        new_shift = (slope + cavity_mean * curvature) / kept
        change = new_precision - precision[i]
        growth = 1.0 + change * variance
        if not (kept > 0.0 and growth > SMALLEST_CAVITY and growth < LARGEST_VARIANCE):
            skipped += 1
            continue
        step = (new_shift - shift[i] - change * centre) / growth
        _move(mean, root, along, step, change / growth / (1.0 + math.sqrt(1.0 / growth)))
        precision[i] = new_precision
        shift[i] = new_shift
        log_factors += log_scale - kept * (
            new_shift * cavity_mean
            + 0.5 * new_shift * new_shift * cavity_variance
            - 0.5 * new_precision * cavity_mean * cavity_mean
        )
        product *= z / math.sqrt(kept)
        if product < 1e-100 or product > 1e100:
            log_factors += math.log(product)
            product = 1.0
    return skipped, log_factors + math.log(product)


@njit(cache=True, nogil=True)
def all_within(values, limit):
    """Whether every value is a number of magnitude at most ``limit``, in one pass."""
    sound = True
    for i in range(values.size):
        sound &= abs(values[i]) <= limit
    return sound


@njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _largest(values):
    top = values[0]
    for i in range(1, values.size):
        top = max(top, values[i])
    return top


@njit(cache=True, nogil=True)
def first_largest(values):
    """Position of the first of the largest values, and how many there are."""
    top = _largest(values)
    ties = 0
    for i in range(values.size):
        ties += values[i] == top
    winner = 0
    while values[winner] != top:
        winner += 1
    return winner, ties


@njit(cache=True, nogil=True)
def count_wins(scores):
    """How often each column is the largest of its row; columns that tie share the win."""
    wins = np.zeros(scores.shape[1])
    for i in range(scores.shape[0]):
        first, ties = first_largest(scores[i])
        if ties == 1:
            wins[first] += 1.0
        else:
            for j in range(first, scores.shape[1]):
                if scores[i, j] == scores[i, first]:
                    wins[j] += 1.0 / ties
    return wins


@njit(cache=True, fastmath=FAST_MATH)
def _half_scores(coefficients, z, start, sums):
    """sums ← Σ c_d z_d over every second d from ``start`` on, for all columns of ``z``."""
    sums[:] = 0.0
    d = start
    while d + 2 < coefficients.size:
        for i in range(sums.size):
            sums[i] += coefficients[d] * z[d, i] + coefficients[d + 2] * z[d + 2, i]
        d += 4
    if d < coefficients.size:
        for i in range(sums.size):
            sums[i] += coefficients[d] * z[d, i]


@njit(cache=True)
def _challenge(k, centre, sign, away, best, leader):
    """Let k lead wherever its score, centre ± away, beats the best so far."""
    for i in range(best.size):
        score = centre + sign * away[i]
        leader[i] = k if score > best[i] else leader[i]
        best[i] = score if score > best[i] else best[i]


@njit(cache=True)
def _is_equal(a, b):
    i = 0
    while i < a.size and a[i] == b[i]:
        i += 1
    return i == a.size


@njit(cache=True)
def _signatures(centre, spread):
    """A number for each row; equal rows have equal numbers, others hardly ever."""
    signatures, factors = np.empty(centre.size), np.arange(1.0, spread.shape[1] + 1.0)
    for k in range(centre.size):
        signatures[k] = centre[k] + _dot(spread[k], factors)
    return signatures


@njit(cache=True)
def _share_among_equals(centre, spread, wins):
    """Equal rows tie in every draw, which the first of them has won."""
    signatures = _signatures(centre, spread)
    equals = np.empty(centre.size, dtype=np.int64)
    for k in range(centre.size):
        if wins[k] <= 0.0:
            continue
        equals[0], many = k, 1
        for j in range(k + 1, centre.size):
            alike = signatures[j] == signatures[k] and centre[j] == centre[k]
            if alike and _is_equal(spread[j], spread[k]):
                equals[many] = j
                many += 1
        if many > 1:
            wins[equals[:many]] = -wins[k] / many  # negative: has its share already
    return np.abs(wins)


@njit(cache=True)
def count_drawn_wins(centre, spread, normals, draws):
    """How often each score is the largest over ``draws`` draws of centre + spread z.

    Each row z of ``normals`` serves four draws: as it is, with every second sign changed, and the
    negatives of both, which are all standard normal.  Different rows tie with probability zero.
    """
    wins = np.zeros(centre.size)
    for start in range(0, len(normals), LANES):
        z = np.ascontiguousarray(normals[start : start + LANES].T)
        many = z.shape[1]
        even, odd = np.empty(many), np.empty(many)
        away, changed = np.empty(many), np.empty(many)
        best, leader = np.full((4, many), -np.inf), np.zeros((4, many), dtype=np.int64)
        for k in range(centre.size):
            _half_scores(spread[k], z, 0, even)
            _half_scores(spread[k], z, 1, odd)
            for i in range(many):
                away[i], changed[i] = even[i] + odd[i], even[i] - odd[i]
            _challenge(k, centre[k], 1.0, away, best[0], leader[0])
            _challenge(k, centre[k], 1.0, changed, best[1], leader[1])
            _challenge(k, centre[k], -1.0, away, best[2], leader[2])
            _challenge(k, centre[k], -1.0, changed, best[3], leader[3])
        for i in range(many):
            for pattern in range(min(4, draws - 4 * (start + i))):
                wins[leader[pattern, i]] += 1.0
    return _share_among_equals(centre, spread, wins)


@njit(cache=True)
def law(rows, mean, root):
    """Centre Xμ and spread XR of scores; equal rows have the same, bit for bit, wherever they are.

    A product by BLAS does not promise that.
    """
    many = root.shape[1]
    centre, spread = np.zeros(rows.shape[0]), np.zeros((rows.shape[0], many))
    for i in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            if rows[i, d] != 0.0:
                centre[i] += rows[i, d] * mean[d]
                for j in range(many):
                    spread[i, j] += rows[i, d] * root[d, j]
    return centre, spread


@njit(cache=True, fastmath=FAST_MATH)
def narrow(wide):
    """A lower triangular L with L Lᵀ = A Aᵀ, for A of fewer rows than columns; A is overwritten.

    By Gram and Schmidt's modified method, whose triangle is as good as that of reflections.
    """
    rows, columns = wide.shape
    low = np.zeros((rows, rows))
    for j in range(rows):
        length = math.sqrt(_dot(wide[j], wide[j]))
        low[j, j] = length
        if length == 0.0:
            continue
        for i in range(j + 1, rows):
            along = _dot(wide[i], wide[j]) / length
            low[i, j] = along
            for d in range(columns):
                wide[i, d] -= along / length * wide[j, d]
    return low


@njit(cache=True)
def mix(shares, floor):
    """shares ← (1 − floor) shares + floor / K, then divided by their sum."""
    total = 0.0
    for k in range(shares.size):
        shares[k] = (1.0 - floor) * shares[k] + floor / shares.size
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total


@njit(cache=True)
def place_of(u, shares):
    """The first place where the sum of ``shares`` so far exceeds u of the whole."""
    rest = u * shares.sum()
    last = 0
    for k in range(shares.size):
        if shares[k] > 0.0:
            last = k
            rest -= shares[k]
            if rest < 0.0:
                break
    return last


@njit(cache=True)
def entropy(shares):
    """−Σ p log p."""
    total = 0.0
    for p in shares:
        if p > 0.0:
            total -= p * math.log(p)
    return total


@njit(cache=True)
def folded_law(parts, source, factors, mean, root):
    """`law` of folded rows; a spread wider than the parts are many is made narrower."""
    centre = np.zeros(parts.shape[1])
    for j in range(source.size):
        centre[source[j]] += factors[j] * mean[j]
    folded = fold(root, source, factors, parts.shape[1])
    if folded.shape[0] < folded.shape[1]:
        folded = narrow(folded)
    return law(parts, centre, folded)


@njit(cache=True, fastmath=FAST_MATH)
def folded_scores(parts, source, factors, mean, root, z):
    """Scores of folded rows under the weights mean + root z."""
    folded, scores = np.zeros(parts.shape[1]), np.zeros(parts.shape[0])
    for j in range(source.size):
        folded[source[j]] += factors[j] * (mean[j] + _dot(root[j], z))
    for i in range(scores.size):
        scores[i] = _dot(parts[i], folded)
    return scores


@njit(cache=True)
def fold(weights, source, factors, parts):
    """Sums of f_j times row j of ``weights``, over those j whose part s(j) is each of ``parts``."""
    folded = np.zeros((parts, weights.shape[1]))
    for j in range(source.size):
        for d in range(weights.shape[1]):
            folded[source[j], d] += factors[j] * weights[j, d]
    return folded


@njit(cache=True, nogil=True)
def largest_score(rows, positions, theta):
    """The position among ``positions`` of the row of the largest θᵀa, and that score.

    Equal scores go to the smaller position.  Every score is summed in the order of the weights,
    so equal rows have equal scores wherever they stand.
    """
    best = -math.inf
    winner = -1
    for i in positions:
        score = 0.0
        for d in range(theta.size):
            score += theta[d] * rows[i, d]
        if score > best or (score == best and i < winner):
            best = score
            winner = i
    return winner, best


@njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _score_block(block, count, theta, scores):
    """scores ← θᵀ block for its first ``count`` columns; returns the largest."""
    for k in range(count):
        scores[k] = theta[0] * block[0, k]
    for d in range(1, theta.size):
        for k in range(count):
            scores[k] += theta[d] * block[d, k]
    top = scores[0]
    for k in range(1, count):
        top = max(top, scores[k])
    return top


@njit(cache=True, nogil=True)
def nearly_best(blocks, counts, positions, limits, theta, slack, found, near):
    """Scan blocks until what they leave out is beaten; collect what may be best so far.

    Scores are in single precision, wrong by at most ``slack``.  ``limits[b]`` bounds the scores
    of all rows after block b.  Returns how many positions were put into ``found`` (with their
    scores in ``near``), how many blocks were read, and whether no other row can be better.
    """
    scores = np.empty(blocks.shape[2], dtype=np.float32)
    best = -math.inf
    many = 0
    for b in range(counts.size):
        if counts[b] > 0:
            top = _score_block(blocks[b], counts[b], theta, scores)
            best = max(best, top)
            if top >= best - 2.0 * slack:
                for k in range(counts[b]):
                    if scores[k] >= best - 2.0 * slack:
                        found[many] = positions[b, k]
                        near[many] = scores[k]
                        many += 1
        if best - slack > limits[b]:
            return _kept(found, near, many, best - 2.0 * slack), b + 1, True
    return many, counts.size, False


@njit(cache=True, nogil=True)
def _kept(found, near, many, lowest):
    """Keep those of the first ``many`` that reach ``lowest``; returns how many."""
    kept = 0
    for i in range(many):
        if near[i] >= lowest:
            found[kept] = found[i]
            kept += 1
    return kept

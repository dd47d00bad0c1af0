"""exp, log, and integrals and quantiles of the Gaussian, with the same bits everywhere.

The C library's differ between systems, and between processors on one system.  These use products,
sums and quotients only, each rounded as IEEE 754 says.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.lanes import (
    choose_at,
    hold,
    load,
    parted,
    pointer,
    put,
    spread,
    store,
    times_power,
    within,
)

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # 33 bits: its product with any exponent is exact
LN2_LOW = 1.90821492927058770002e-10
SHIFT = 6755399441055744.0  # 3·2⁵¹: adding it rounds to a whole number
SMALLEST_EXPONENT = -708.0
LARGEST_EXPONENT = 709.782712893384
ROOT_HALF = 0.7071067811865476

MILLS_SPLIT = 5.0
MILLS_LEVELS = 60
#: Chebyshev's expansion of Φ(−a)/φ(a) in 9.6/(a + 3) − 2.2, as a polynomial, for 0 ≤ a ≤ 5.
MILLS = np.array(
    [
        0.548394770298975,
        0.5002094867946583,
        0.17490112775478453,
        0.03094068925320656,
        -0.0002493465482385379,
        -0.0009329981989576709,
        1.8556190710201872e-05,
        3.709542933448554e-05,
        -4.3921840214308836e-06,
        -1.2532993077270773e-06,
        4.2844957324443125e-07,
        -9.07644926880372e-09,
        -2.3085158683199317e-08,
        5.797154999341809e-09,
        4.027899912925141e-11,
        -4.0528623608520185e-10,
        1.0546344969920623e-10,
        5.738866347035405e-12,
        -6.958778120010107e-12,
    ]
)


@helper()
def reduced(x):
    """k, as `times_power` takes it, and eʳ − 1 of eˣ = 2ᵏ eʳ, where |r| ≤ ½ log 2.

    By Taylor's series of eʳ up to r¹³.
    """
    shifted = x * LOG2_E + SHIFT
    whole = shifted - SHIFT
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0))
    high = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0))
    top = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (
        1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    )
    return shifted, r + r2 * (low + r4 * (high + r4 * top))


@kernel()
def exp(x):
    """eˣ of a number or of lanes, to one unit in the last place; zero below −708."""
    shifted, less = reduced(within(x, SMALLEST_EXPONENT, LARGEST_EXPONENT))
    power = times_power(1.0 + less, shifted)
    return choose_at(x, LARGEST_EXPONENT, choose_at(x, SMALLEST_EXPONENT, 0.0, power), math.inf)


@helper()
def expm1(x):
    """eˣ − 1 of lanes between −708 and 708, to two units in the last place.

    It is (2ᵏ − 1) + 2ᵏ (eʳ − 1), of which the first is zero where the second is small.
    """
    shifted, less = reduced(within(x, SMALLEST_EXPONENT, -SMALLEST_EXPONENT))
    scale = times_power(spread(1.0), shifted)
    return (scale - 1.0) + scale * less


@helper()
def log_of_lanes(x, lost):
    """`log` of positive lanes, and ``lost`` more, which is what rounding took from x, over x."""
    m, k = parted(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0))
    high = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0))
    series = low + z4 * (high + z4 * (2.0 / 19.0 + z * (2.0 / 21.0)))
    return k * LN2_HIGH + (f - (s * (f - z * series) - (k * LN2_LOW + lost)))


@kernel()
def log(x):
    """The logarithm of a positive number, to one unit in the last place; of zero −infinity.

    log m = 2 artanh s, s = (m − 1)/(m + 1), for x = 2ᵏ m with √½ ≤ m < √2.
    """
    if not x > 0.0:
        return -math.inf if x == 0.0 else math.nan
    if x == math.inf:
        return x
    m, k = math.frexp(x)
    if m < ROOT_HALF:
        m *= 2.0
        k -= 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = 0.0
    for n in range(25, 1, -2):
        series = series * z + 2.0 / n
    # log m = f − s (f − z·series): the large term f is exact.
    return k * LN2_HIGH + (f - (s * (f - z * series) - k * LN2_LOW))


@kernel()
def sum_of_logs(values):
    """Σ log of positive numbers, in their order."""
    logs = 0.0
    for i in range(values.size):
        logs += log(values[i])
    return logs


@kernel()
def asinh(x):
    """The inverse hyperbolic sine, to two units in the last place, for |x| below 1e150.

    asinh x = log(1 + u) with u = x + x²/(1 + √(1 + x²)) for x ≥ 0, and log(1 + u) is
    log w · u/(w − 1) for the rounded w = 1 + u.
    """
    a = abs(x)
    square = a * a
    u = a + square / (1.0 + math.sqrt(1.0 + square))
    w = 1.0 + u
    size = u if w == 1.0 else log(w) * (u / (w - 1.0))
    return math.copysign(size, x)


@kernel()
def bounded(values, bound):
    """bound · asinh(value/bound) of each of a vector."""
    found = np.empty_like(values)
    for i in range(values.size):
        found[i] = bound * asinh(values[i] / bound)
    return found


@kernel()
def half_line(a):
    """∫ wᵏ exp(−a w − w²/2) dw over w > 0 for k = 0, 1, 2 and a ≥ 0, to 4e-13.

    I₀ is Mills' ratio and Iₖ₊₁ = k Iₖ₋₁ − a Iₖ.  Where that cancels, the ratios Iₖ/Iₖ₋₁ come from
    k / (a + Iₖ₊₁/Iₖ), Laplace's continued fraction, whose terms are all positive.
    """
    if a < MILLS_SPLIT:
        w = 9.6 / (a + 3.0) - 2.2
        zeroth = 0.0
        for k in range(MILLS.size - 1, -1, -1):
            zeroth = zeroth * w + MILLS[k]
        first = 1.0 - a * zeroth
        return zeroth, first, zeroth - a * first
    ratio = 0.0
    for k in range(MILLS_LEVELS, 2, -1):
        ratio = k / (a + ratio)
    second = 2.0 / (a + ratio)
    first = 1.0 / (a + second)
    zeroth = 1.0 / (a + first)
    return zeroth, zeroth * first, zeroth * first * second


@helper()
def _central(q):
    """The quantile of ½ + q for |q| ≤ 0.425, of a number or of lanes."""
    r = 0.180625 - q * q
    above = 2509.0809287301226727 * r + 33430.575583588128105
    above = ((above * r + 67265.770927008700853) * r + 45921.953931549871457) * r
    above = ((above + 13731.693765509461125) * r + 1971.5909503065514427) * r
    above = (above + 133.14166789178437745) * r + 3.3871328727963666080
    below = 5226.4952788528545610 * r + 28729.085735721942674
    below = ((below * r + 39307.895800092710610) * r + 21213.794301586595867) * r
    below = ((below + 5394.1960214247511077) * r + 687.18700749205790830) * r
    below = (below + 42.313330701600911252) * r + 1.0
    return q * above / below


@helper()
def _outer(tail):
    """The size of the quantile of a probability ``tail`` < 0.075 or of one minus it."""
    r = math.sqrt(-log(tail))
    if r <= 5.0:
        r -= 1.6
        above = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
        above = ((above * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258) * r
        above = ((above + 3.64784832476320460504) * r + 5.76949722146069140550) * r
        above = (above + 4.63033784615654529590) * r + 1.42343711074968357734
        below = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
        below = ((below * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r
        below = ((below + 6.89767334985100004550e-1) * r + 1.67638483018380384940) * r
        return above / ((below + 2.05319162663775882187) * r + 1.0)
    r -= 5.0
    above = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    above = ((above * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r
    above = ((above + 2.96560571828504891230e-1) * r + 1.78482653991729133580) * r
    above = (above + 5.46378491116411436990) * r + 6.65790464350110377720
    below = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
    below = ((below * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
    below = ((below + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
    return above / ((below + 5.99832206555887937690e-1) * r + 1.0)


@kernel()
def normal_quantile(p):
    """z with Φ(z) = p for 0 ≤ p < 1, to 1e-15; that of zero is as if it were 2⁻⁵⁴.

    Wichura's rational functions (Algorithm AS 241, Applied Statistics 37, 1988).
    """
    q = p - 0.5
    if abs(q) <= 0.425:
        return _central(q)
    tail = max(min(p, 1.0 - p), 2.0**-54)
    return math.copysign(_outer(tail), q)


@kernel()
def make_normal(uniforms):
    """Replace numbers that are uniform on [0, 1) by their `normal_quantile`."""
    given = uniforms.ravel()
    numbers = pointer(given)
    i = 0
    while i + 7 < given.size:
        lanes = load(numbers, i)
        middle = _central(lanes - 0.5)
        for k in range(i, i + 8):
            if abs(given[k] - 0.5) > 0.425:
                given[k] = normal_quantile(given[k])
                middle = put(middle, k - i, given[k])
        store(numbers, i, middle)
        i += 8
    while i < given.size:
        given[i] = normal_quantile(given[i])
        i += 1
    hold(given)

"""Normal numbers by the thousand, as a decision needs them where items have effects of their own.

Uniform numbers are those of eight generators SFC64 side by side, and become normal in pairs by
Box and Muller's transformation, which needs no table, no tail and no rejection.  So a number costs
a fifth of what it costs as the quantile of one of NumPy's.

References
----------
.. [1] Box and Muller, "A note on the generation of random normal deviates", Annals of Mathematical
   Statistics 29 (1958).
"""

from __future__ import annotations

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.functions import LN2_HIGH, LN2_LOW
from fabcost.kernels.lanes import (
    counted,
    hold,
    parted,
    pointer,
    spread,
    square_root,
    stirred,
    store,
)

SEEDS = 3  # numbers of which a stream of normals is made
ROUNDS = 18  # after which every bit of the seeds has reached every bit of the state
HALF_PI = 1.5707963267948966


@helper()
def logarithm(x):
    """log x of lanes that are positive, to 2e-16 of 1 + |log x|; see `fabcost.kernels.log`.

    (log m − 2s)/s³ for m = (1 + s)/(1 − s) by Chebyshev's expansion in s², as a polynomial.
    """
    m, k = parted(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    low = 0.6666666666666669688 + z * 0.3999999999989944323
    middle = 0.2857142862600326874 + z * 0.2222221113025987703
    high = 0.1818288945567494604 + z * 0.1533171061821077157 + z2 * 0.1461658542488862197
    series = low + z2 * (middle + z2 * high)
    return k * LN2_HIGH + (f - (s * (f - z * series) - k * LN2_LOW))


@helper()
def sine_and_cosine(y):
    """sin 4y and cos 4y of lanes with |y| ≤ π/4, to 2e-15: Chebyshev's series, doubled twice."""
    z = y * y
    z2 = z * z
    low = -0.1666666666666666462 + z * 0.008333333333330947294
    middle = -0.0001984126983675677253 + z * 2.755731610161787444e-6
    high = -2.505113165023518147e-8 + z * 1.59181152632659752e-10
    sine = y + y * z * (low + z2 * (middle + z2 * high))
    low = -0.4999999999999996936 + z * 0.0416666666666309084
    middle = -0.001388888888212525163 + z * 0.00002480158262195166657
    high = -2.755585522010578443e-7 + z * 2.066548384659679182e-9
    cosine = 1.0 + z * (low + z2 * (middle + z2 * high))
    twice, once = 2.0 * sine * cosine, 1.0 - 2.0 * sine * sine
    return 2.0 * twice * once, 1.0 - 2.0 * twice * twice


@kernel()
def fresh_normals(seeds, many):
    """At least ``many`` independent normal numbers, made of `SEEDS` uniform ones."""
    normals = np.empty(-(-many // 16) * 16)
    found = pointer(normals)
    a, b, c, counter = spread(seeds[0]), spread(seeds[1]), spread(seeds[2]), counted()
    for _ in range(ROUNDS):
        a, b, c, counter, first = stirred(a, b, c, counter)
    for i in range(0, normals.size, 16):
        a, b, c, counter, first = stirred(a, b, c, counter)
        a, b, c, counter, second = stirred(a, b, c, counter)
        radius = square_root(-2.0 * logarithm(2.0 - first))
        sine, cosine = sine_and_cosine(HALF_PI * (second - 1.5))
        store(found, i, radius * cosine)
        store(found, i + 8, radius * sine)
    hold(normals)
    return normals

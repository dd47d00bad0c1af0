"""A claim reads as it holds."""

from __future__ import annotations

import pytest
from studies.claims import Claim


@pytest.mark.parametrize(
    ("measured", "sense", "required", "text", "verdict"),
    [
        (0.5, "at least", 0.5, "0.500×", "yes"),
        (0.49996, "at least", 0.5, "0.49996×", "NO"),
        (1.10004, "at most", 1.1, "1.10004×", "NO"),
        (18.44, "at least", 15.0, "18.4×", "yes"),
        (99.97, "at least", 15.0, "100×", "yes"),
        (1234.5, "at most", 10.0, "1,234×", "NO"),
    ],
)
def test_rounding_does_not_cross_the_bound(
    measured: float, sense: str, required: float, text: str, verdict: str
) -> None:
    claim = Claim("what", measured, sense, required, "")  # type: ignore[arg-type]
    assert (claim.measured_text, claim.verdict) == (text, verdict)

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from fabcost.impressions import as_impressions, as_label, as_row


@pytest.mark.parametrize(
    "y", [[0, 1, 0], [-1, 1, -1], [False, True, False], [0.0, 1.0, 0.0], [-1.0, 1.0, -1.0]]
)
def test_each_way_to_write_labels(y: list[float]) -> None:
    _, labels = as_impressions(np.zeros((3, 2)), y, 2)
    np.testing.assert_array_equal(labels, [-1.0, 1.0, -1.0])
    assert [as_label(each) for each in y] == [-1.0, 1.0, -1.0]


def test_float64_rows_are_not_copied() -> None:
    X = np.zeros((3, 2))
    rows, _ = as_impressions(X, [0, 1, 1], 2)
    assert rows is X


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        ([[np.nan, 0.0]], [1], r"X\[0, 0\] is nan"),
        ([[0.0, np.inf]], [1], r"X\[0, 1\] is inf"),
        ([[0.0, -1e80]], [1], r"X\[0, 1\] is -1e\+80"),
        ([[1.0, 2.0, 3.0]], [1], "X has 3 columns but the prior has 2 weights"),
        ([1.0, 2.0], [1], r"X has shape \(2,\)"),
        ([[1.0, 2.0]], [1, 0], r"y has shape \(2,\) but X has 1 rows"),
        ([[1.0, 2.0]], [[1]], r"y has shape \(1, 1\)"),
        ([[1.0, 2.0]], [2], "y contains 2 but"),
        ([[1.0, 2.0]], [0.5], "y contains 0.5 but"),
        ([[1.0, 2.0]], [np.nan], "y contains nan but"),
        ([[1.0, 2.0]], ["click"], "y contains 'click' but"),
        ([[1.0, 2.0]], [None], "y contains None but"),
        ([[1.0, 2.0]] * 3, [0, 1, -1], "all 0 or 1, all -1 or"),
        ([["a", "b"]], [1], "X must contain numbers only"),
        ([[1j, 0.0]], [1], "complex"),
        ([[1.0, 2.0], [1.0]], [1, 0], "X must contain numbers only"),
    ],
)
def test_bad_batches_are_named(X: npt.ArrayLike, y: npt.ArrayLike, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_impressions(X, y, 2)


@pytest.mark.parametrize(
    "x", [[1.0], [1.0, np.nan], [np.inf, 1.0], [1e80, 0.0], "ab", [[1.0, 2.0]]]
)
def test_bad_rows_are_refused(x: npt.ArrayLike) -> None:
    with pytest.raises(ValueError, match="x"):
        as_row(x, 2)


@pytest.mark.parametrize("y", [2, 0.5, None, "1", np.nan, np.inf, np.array([1, 0]), pd.NA])
def test_bad_labels_are_refused(y: object) -> None:
    with pytest.raises(ValueError, match="y is .* but must be 0 or 1"):
        as_label(y)


def test_an_empty_batch_is_fine() -> None:
    rows, labels = as_impressions(np.empty((0, 2)), [], 2)
    assert rows.shape == (0, 2)
    assert labels.shape == (0,)

"""Logs for the replay: files to rows of features and outcomes, and which features to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from fabcost.features.schema import Schema
from fabcost.features.tables import cells
from fabcost.features.tables.columns import Arrow
from fabcost.features.tables.sheet import Sheet, Wrong
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray
from fabcost.offline.logs.counted import amounts_of, read_counted, times_of, weights_of
from fabcost.offline.logs.rounds import column_alarms, missing, schema_of
from fabcost.recommend.alarms import Alarm, Watch, in_order

MOST_LEVELS = 1000
MOST_CELLS = 2**28  # 2 GiB of features
SHARE = 0.1
MOST_ROWS = 20_000
TREES = 200
_LEAST_IN_LEAF = 5
_SELECTION_STREAM = 1


@dataclass(frozen=True, eq=False)
class ReplayLog:
    """Impressions as rows of features, and whether each was clicked."""

    X: FloatArray  # of each row the first is 1
    y: FloatArray  # outcomes, 0 or 1
    columns: tuple[str, ...]  # the name of each column of X
    skipped: Counter[str] = field(default_factory=Counter)  # rows left out, for each complaint
    # Whose each row is, as a number, if a column of ids was named.
    items: npt.NDArray[np.intp] | None = None
    weight: FloatArray | None = None  # how much each row counts for a learner, if that differs
    column_alarms: tuple[Alarm, ...] = ()  # what is wrong with the features
    # What a click on each is worth and showing it costs, if columns say so.
    amounts: tuple[FloatArray, FloatArray] | None = None
    times: FloatArray | None = None  # when each was shown, in seconds, if a column says so

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong with the data."""
        watch = Watch()
        watch.counted(self.y.size, int(self.y.sum()))
        return in_order([*self.column_alarms, *watch.of_outcomes()])

    @property
    def warning(self) -> str | None:
        """What a reader should know who expects both outcomes."""
        if 0 < self.y.sum() < self.y.size:
            return None
        return f"every outcome is {self.y[0]:.0f}: every policy has the same clicks"


def read_log(
    path: Path,
    reward: str,
    *,
    drop: Iterable[str] = (),
    kinds: Mapping[str, cells.Kind] | None = None,
    item: str | None = None,
    impressions: str | None = None,
    weight: str | None = None,
    value: str | None = None,
    cost: str | None = None,
    time: str | None = None,
    skip_bad_rows: bool = False,
) -> ReplayLog:
    r"""The log in a file of any format; every column but ``reward`` and ``drop`` is a feature.

    What a column is, category or number, is found out unless ``kinds`` tells.
    The column ``item``, if there is one, has ids of items and is no feature.  Where the column
    ``impressions`` says how many a row stands for, ``reward`` counts their clicks, and each is one.
    The column ``weight``, if there is one, says how much each counts for a learner; ``value`` and
    ``cost`` what a click is worth and showing costs, and are features unless they are dropped.
    The column ``time`` says when each was shown.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("age;make;click\n1;kia;yes\n3;ford;no\n")
    ...     log = read_log(path, "click")
    >>> log.columns, log.y
    (('bias', 'age', 'make=ford', 'make=kia'), array([1., 0.]))
    """
    sheet, skipped = read_counted(path, reward, impressions, skip_bad_rows=skip_bad_rows)
    sheet.check_has(kinds or ())
    sheet = replace(sheet, kinds=kinds or {})
    named = {"item": item, "weight": weight, "value": value, "cost": cost, "time": time}
    log = encode(sheet, reward, drop=drop, **named, skip_bad_rows=skip_bad_rows)
    return replace(log, skipped=log.skipped + skipped)


def encode(
    sheet: Sheet,
    reward: str,
    *,
    drop: Iterable[str] = (),
    item: str | None = None,
    weight: str | None = None,
    value: str | None = None,
    cost: str | None = None,
    time: str | None = None,
    skip_bad_rows: bool = False,
) -> ReplayLog:
    """The features and outcomes of a table.

    Numbers are standardised by the mean and sd over all rows, text has one column for each of its
    values, and a column with missing cells gets one more for them.  These constants come from the
    features of all rows but from no outcome, so that they tell a policy nothing it must learn.

    A row whose reward is no outcome, or that has something else than a finite number in a column
    of numbers, is a `BadRowsError`, or is skipped and counted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> log = encode(Sheet.of(pa.table({"age": [1, 3], "click": [True, False]})), "click")
    >>> log.X
    array([[ 1., -1.],
           [ 1.,  1.]])
    """
    no_features = [name for name in (item, weight, time) if name is not None]
    values, wrong = sheet.clean(_features(sheet, reward, (*drop, *no_features)))
    y, no_outcome = cells.outcomes(sheet.table[reward])
    weights, no_weight = weights_of(sheet, weight)
    amounts, no_amount = amounts_of(sheet, value, cost)
    times, no_time = times_of(sheet, time)
    unsaid = [Wrong(reward, no_outcome, cells.AN_OUTCOME), *no_weight, *no_amount, *no_time]
    wrong = [*unsaid, *wrong]
    ids = None if item is None else cells.texts(item, sheet.table[item])
    if item is not None and ids is not None:
        wrong.append(Wrong(item, missing(ids), "have a value"))
    sound, skipped = sheet.sound(wrong, skip=skip_bad_rows)
    columns = {name: Arrow(each.filter(sound)) for name, each in values.items()}
    schema, X = _design(sheet.name, Table(columns, int(sound.sum())))
    items = None if ids is None else np.asarray(Arrow(ids.filter(sound)).coded.codes, dtype=np.intp)
    alarms = column_alarms(schema, X, len(X))
    weights = None if weights is None else weights[sound]
    worth = None if amounts is None else (amounts[0][sound], amounts[1][sound])
    times = None if times is None else times[sound]
    return ReplayLog(X, y[sound], schema.columns, skipped, items, weights, alarms, worth, times)


def _features(sheet: Sheet, reward: str, drop: Sequence[str]) -> list[str]:
    sheet.check_has((reward, *drop))
    names = [name for name in sheet.columns if name != reward and name not in drop]
    if not names:
        raise ValueError(f"{sheet.name} has no column left to learn from")
    return names


def _design(name: str, table: Table) -> tuple[Schema, FloatArray]:
    schema = schema_of(table, name, most_levels=MOST_LEVELS)
    if table.length * schema.width > MOST_CELLS:
        widest = max(schema.features.values(), key=lambda feature: len(feature.labels))
        raise ValueError(
            f"{name} makes {table.length:,} rows of {schema.width:,} features but at most "
            f"{MOST_CELLS:,} cells fit: drop a column, such as {widest.name!r} with "
            f"{len(widest.labels):,} features"
        )
    return schema, schema.design(table)


class Selection(NamedTuple):
    """Which columns were chosen, how important each was, and which rows that took."""

    # Indices of the chosen columns, the constant first, the others as they stood.
    columns: npt.NDArray[np.intp]
    importance: FloatArray  # the forest's importance of each of them; that of the constant is 0
    rows: npt.NDArray[np.intp]  # indices of the rows that the forest was fitted to


def select(
    X: FloatArray, y: FloatArray, many: int, *, rng: np.random.Generator, jobs: int = 1
) -> Selection:
    """The ``many`` columns of largest importance besides the constant first one.

    A forest of 200 trees is fitted to a random tenth of the rows, at most 20,000, and columns are
    ranked by mean decrease in impurity (Breiman, 2001).  Leave `Selection.rows` out of whatever
    the columns are used for: their outcomes have been looked at.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(2000), rng.normal(size=(2000, 9))])
    >>> select(X, (X[:, 7] > 1.0).astype(float), 1, rng=rng).columns
    array([0, 7])
    """
    if not 1 <= many <= X.shape[1] - 1:
        raise ValueError(f"select is {many} but there are {X.shape[1] - 1} features to choose from")
    size = min(MOST_ROWS, round(SHARE * y.size))
    rows = np.sort(rng.permutation(y.size)[:size])
    if np.unique(y[rows]).size < 2:
        raise ValueError(
            f"the {size:,} rows kept for choosing features have {y[rows].sum():,.0f} positive "
            "outcomes but need some of either kind: do without --select, or bring more rows"
        )
    forest = RandomForestClassifier(
        TREES, min_samples_leaf=_LEAST_IN_LEAF, random_state=int(rng.integers(2**31)), n_jobs=jobs
    )
    importance = np.append(0.0, forest.fit(X[rows, 1:], y[rows]).feature_importances_)
    # A stable sort of the negated values: of equals the first column wins.
    best = 1 + np.argsort(-importance[1:], kind="stable")[:many]
    columns = np.append(0, np.sort(best))
    return Selection(columns, importance[columns], rows)


def chosen(
    log: ReplayLog, features: int | None, *, seed: int, jobs: int = 1
) -> tuple[Selection | None, ReplayLog]:
    """How features were chosen, and these of the rows that are left to replay."""
    if features is None:
        return None, log
    rng = np.random.default_rng([seed, _SELECTION_STREAM])
    selection = select(log.X, log.y, features, rng=rng, jobs=jobs)
    unseen = np.delete(np.arange(log.y.size), selection.rows)
    left = replace(
        log,
        X=np.ascontiguousarray(log.X[np.ix_(unseen, selection.columns)]),
        y=log.y[unseen],
        columns=tuple(log.columns[place] for place in selection.columns),
        items=None if log.items is None else log.items[unseen],
        weight=None if log.weight is None else log.weight[unseen],
        times=None if log.times is None else log.times[unseen],
        amounts=log.amounts and (log.amounts[0][unseen], log.amounts[1][unseen]),
    )
    return selection, left

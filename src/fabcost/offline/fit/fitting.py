"""Logs to models: files, folders and streams of any size, in one process or on a cluster."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from fabcost.features.schema import Schema
from fabcost.features.tables.sheet import Sheet
from fabcost.gaussian import Gaussian
from fabcost.inference import ep, laplace
from fabcost.inference.inheritance.information import Information, InheritedEffects
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.online import FabCost
from fabcost.inference.result import Fit
from fabcost.inference.schedule import Refresh
from fabcost.kernels import ARITHMETIC
from fabcost.offline.fit import blocks, driver, partitions
from fabcost.offline.fit.blocks import PartitionTask, RowBlock, Stage
from fabcost.offline.fit.driver import Engine, FittedItems, Laid
from fabcost.offline.fit.encoding import OutcomeColumns, Plan
from fabcost.offline.fit.engines import Alone, Shown
from fabcost.offline.fit.folders import Folder
from fabcost.offline.fit.partitions import find, numbered, split
from fabcost.prior import Prior
from fabcost.recommend.recommender import Recommender

Method = Literal["ep", "adf", "laplace", "fab-cost"]
#: Methods that learn one row after another.
_ORDERED = ("adf", "fab-cost")

#: Distinct rows are fitted at once as long as they take no more.
_BYTES_TOGETHER = 2**28
_MOST_KEPT = 100_000
_SHOWN = 10


@dataclass(frozen=True)
class LogSettings:
    """How a log is read, and what is fitted to it.

    Attributes
    ----------
    reward
        The column of outcomes; where ``impressions`` names one, of their clicks.
    method
        "ep", "laplace", or in the order of the rows "adf" or "fab-cost".
    impressions, weight
        Columns of how many impressions a row stands for, and of how much it counts.
    item
        The column of the item's id: then each has an effect of its own, and the id is no feature.
    context
        Columns that describe who looks; all others describe what is shown.
    drop
        Columns that are left out.
    schema
        How columns become numbers; inferred from the first rows unless given.
    prior
        How far weights are expected to reach.
    group
        Whether equal rows are made one; None for what method and first rows speak for.
    skip_bad
        Whether bad files and rows are left out and counted.

    Examples
    --------
    >>> LogSettings("click", method="exact")
    Traceback (most recent call last):
    ValueError: method is 'exact' but must be one of 'ep', 'adf', 'laplace', 'fab-cost'
    """

    reward: str
    method: Method = "ep"
    impressions: str | None = None
    weight: str | None = None
    context: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    schema: Schema | None = None
    prior: Prior = field(default_factory=Prior)
    group: bool | None = None
    skip_bad: bool = False
    item: str | None = None

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            options = ", ".join(map(repr, get_args(Method)))
            raise ValueError(f"method is {self.method!r} but must be one of {options}")
        named = [*self.columns.named, *self.context]
        twice = [name for name, many in Counter(named).items() if many > 1]
        if twice:
            raise ValueError(f"column {twice[0]!r} is named for two things")
        if self.item is not None and not self.prior.items:
            raise ValueError(
                f"items are told by {self.item!r} but have no effects of their own by this prior: "
                "give it a variance of items above 0"
            )

    @property
    def columns(self) -> OutcomeColumns:
        """Those that are no features."""
        return OutcomeColumns(self.reward, self.impressions, self.weight, self.item)


@dataclass(frozen=True, eq=False)
class FittedLog:
    """A model with what it was fitted to.

    Attributes
    ----------
    recommender
        To be saved, served or gone on with.
    fit
        The posterior, and how it was found.
    rows, sites
        Rows that were read, and those that were left when equal ones had been made one.
    skipped, bad_files
        Rows left out by complaint, and files with what is wrong with them.
    folder
        Where blocks and checkpoints are, if it was given.
    """

    recommender: Recommender
    fit: Fit
    rows: int
    sites: int
    skipped: Counter[str]
    bad_files: tuple[str, ...]
    folder: Folder | None = None


def fit_log(
    source: Any,
    settings: LogSettings,
    *,
    work: str | os.PathLike[str] | None = None,
    engine: Engine | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> FittedLog:
    """Fit a model to a log that need not fit into memory.

    Parameters
    ----------
    source
        A file or folder of Parquet, CSV or JSON Lines, by its path or the address of any Arrow
        filesystem; or whatever hands out an Arrow stream, such as a relation of DuckDB.
    settings
        Which columns there are, and the method.
    work
        A folder for blocks and checkpoints, from which a fit that was stopped goes on; a
        temporary one unless given.
    engine
        Who does the work: this process unless given.
    say
        Is told which way is taken, and why.

    Examples
    --------
    >>> log = pa.table({"age": [1.0, 2.0, 3.0, 4.0], "click": [0, 1, 0, 1]})
    >>> fitted = fit_log(log, LogSettings("click"))
    >>> fitted.recommender.schema.columns, fitted.rows, fitted.fit.converged
    (('bias', 'age'), 4, True)
    """
    with _folder(work) as folder:
        read = _read(source, settings, folder, engine or Alone(), say)
        found, learner = _fitted(read, settings, say)
    rows = sum(stage.rows for stage in read.stages)
    sites = sum(block.rows for block in read.laid.blocks)
    skipped = sum((Counter(dict(stage.skipped)) for stage in read.stages), Counter[str]())
    recommender = Recommender(read.plan.schema, prior=settings.prior, learner=learner)
    kept = None if work is None else read.laid.folder
    return FittedLog(recommender, found, rows, sites, skipped, tuple(read.faults), kept)


@dataclass(frozen=True, eq=False)
class _Read:
    """A log as blocks."""

    plan: Plan
    laid: Laid
    stages: list[Stage]
    faults: list[str]


@contextmanager
def _folder(work: str | os.PathLike[str] | None) -> Iterator[Folder]:
    if work is not None:
        yield Folder(os.fspath(work))
        return
    with tempfile.TemporaryDirectory() as made:
        yield Folder(made)


def _read(
    source: Any, settings: LogSettings, folder: Folder, engine: Engine, say: Callable[[str], None]
) -> _Read:
    if isinstance(source, str | os.PathLike):
        return _read_files(source, settings, folder, engine, say)
    batches = numbered("the stream", pa.RecordBatchReader.from_stream(source))
    first: list[Sheet] = []
    while sum(map(len, first)) < partitions.ROWS and (sheet := next(batches, None)) is not None:
        first.append(sheet)
    looked = partitions.first_rows([each.table for each in first], "the stream")
    plan = _plan(looked, settings, say)
    sheets, shown = chain(first, batches), _shown(engine)

    def write(name: str) -> Stage:
        return blocks.written(name, sheets, plan, folder, "part-0", shown.told)

    (stage,) = shown.here("reading", write, ["the stream"])
    return _Read(plan, Laid(folder, stage.blocks, engine), [stage], [])


def _shown(engine: Engine) -> Shown:
    """Where what this process does by itself is shown, whoever does the rest."""
    return engine if isinstance(engine, Shown) else Shown()


def _read_files(
    source: str | os.PathLike[str],
    settings: LogSettings,
    folder: Folder,
    engine: Engine,
    say: Callable[[str], None],
) -> _Read:
    """All headings first, then all rows: whatever is wrong is told before a fit begins."""
    named = settings.columns, settings.context, settings.drop
    sounded = partitions.sounded(find(source), *named)
    _complain(sounded.faults, settings, sounded.partitions)
    plan = _plan(partitions.sample(sounded.partitions, settings.drop), settings, say)
    parts = [part for whole in sounded.partitions for part in split(whole)]
    made_by = (version("fabcost"), ARITHMETIC)
    asked_for = (dataclasses.asdict(settings.prior), settings.method)
    within = folder.within(plan.mark([[part[:6] for part in parts], *asked_for, *made_by]))
    told = engine.told if isinstance(engine, Alone) else int
    asked = [PartitionTask(number, part, plan, within, told) for number, part in enumerate(parts)]
    files = len(sounded.partitions)
    say(f"partitions: {len(parts):,}, of {'one file' if files == 1 else f'{files:,} files'}")
    stages = engine.each("reading", blocks.staged, asked)
    faults = [stage.fault for stage in stages if stage.fault is not None]
    sound = [stage for stage in stages if stage.fault is None]
    _complain(faults, settings, sound)
    laid = Laid(within, tuple(block for stage in sound for block in stage.blocks), engine)
    return _Read(plan, laid, sound, [*sounded.faults, *faults])


def _complain(faults: Sequence[str], settings: LogSettings, sound: Sequence[object]) -> None:
    """A ValueError that tells of each file, unless bad ones may be left out and some are sound."""
    if not faults or (settings.skip_bad and sound):
        if not sound:
            raise ValueError("the log has no rows to learn from")
        return
    more = [f"… and {len(faults) - _SHOWN:,} more"] if len(faults) > _SHOWN else []
    many = "1 bad file" if len(faults) == 1 else f"{len(faults):,} bad files or parts of files"
    raise ValueError("\n".join([f"the log has {many}:", *faults[:_SHOWN], *more]))


def _plan(looked: Sheet, settings: LogSettings, say: Callable[[str], None]) -> Plan:
    schema, columns = settings.schema, settings.columns
    if schema is None:
        schema = partitions.schema_for(looked, columns, settings.context, settings.drop)
    if schema.grows:
        raise ValueError("the schema is open, or has text: a log needs one with fixed columns")
    plan = Plan(schema.to_dict(), columns, together=False, skip=True)
    together, why = partitions.repeats(looked, plan)
    if settings.method in _ORDERED:
        together, why = False, f"{settings.method} learns them in their order"
    if settings.group is not None:
        together, why = settings.group, "as asked for"
    say(f"{'equal rows are made one' if together else 'every row is kept'}: {why}")
    return dataclasses.replace(plan, together=together, skip=settings.skip_bad)


def _fitted(read: _Read, settings: LogSettings, say: Callable[[str], None]) -> tuple[Fit, FabCost]:
    """The posterior, and a learner that goes on from it."""
    if not read.laid.blocks:
        raise ValueError("the log has no rows to learn from")
    prior, own = read.plan.schema.prior(settings.prior), settings.prior.items
    if settings.method in _ORDERED:
        return _filtered(prior, own, read, settings.method)
    found = _converged(prior, own, read, settings.method, say)
    return found, _after(prior, own, found)


def _converged(
    prior: Gaussian, own: float, read: _Read, method: Method, say: Callable[[str], None]
) -> Fit:
    laid, owned = read.laid, read.plan.columns.item is not None
    if read.plan.together and not (owned and method == "laplace"):
        most = _BYTES_TOGETHER // (read.plan.row_bytes + 32)
        rows = blocks.merged(laid.folder, laid.blocks, most)
        if rows is not None:
            say(f"{len(rows.X):,} distinct rows are fitted at once, in this process")
            X, tally = rows.X, rows.outcomes.given
            if method == "laplace":
                return laplace.fit(prior, X, tally)
            return ep.fit(prior, X, tally, items=rows.keys, own_variance=own if owned else 0.0)
        say(f"more than {most:,} rows are distinct: equal ones are one within each partition only")
    if owned:
        laid = laid._replace(
            items=FittedItems(blocks.numbered_items(laid.folder, laid.blocks), own)
        )
    say(f"rounds over {len(laid.blocks):,} blocks")
    return driver.ep(prior, laid) if method == "ep" else driver.laplace(prior, laid)


def _filtered(prior: Gaussian, own: float, read: _Read, method: Method) -> tuple[Fit, FabCost]:
    """One row after another, which only one process can do."""
    refresh = Refresh.never() if method == "adf" else None
    kept = None if method == "adf" else _MOST_KEPT
    learner = FabCost(prior, refresh=refresh, most_kept=kept, own_variance=own)
    shown = _shown(read.laid.engine)

    def learn(block: RowBlock) -> None:
        rows = blocks.read(read.laid.folder, block.name)
        learner.observe_many(rows.X, rows.outcomes.given, rows.keys)
        shown.told(block.rows)

    shown.here("learning", learn, read.laid.blocks)
    learner.finish()
    skipped = learner.skipped
    found = Fit(learner.posterior, True, 1, skipped=skipped, own=learner.own)
    return found, _after(prior, own, found) if method == "adf" else learner


def _after(prior: Gaussian, own: float, found: Fit) -> FabCost:
    """A learner that has seen nothing itself, and inherits all that the log said."""
    told, effects = Information.gained(prior, found.posterior), None
    if found.own is not None:
        # All have a key: of a log no item is ever forgotten.
        effects = InheritedEffects(found.own.keys, found.own.rows, own, own)  # type: ignore[arg-type]
    return FabCost(Inheritance.given(prior, told, 1.0, effects), own_variance=own)

"""Blocks: the encoded rows of a log in files of bounded size, made once, read in each round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fabcost.features.tables.sheet import Sheet
from fabcost.impressions import FloatArray, Outcomes
from fabcost.offline.fit.encoding import CountedRows, Plan
from fabcost.offline.fit.folders import Folder
from fabcost.offline.fit.partitions import Partition

#: Rows that are read at once, where equal ones are made one and where not.
AT_ONCE = {True: 2**18, False: 2**16}
#: Of the features of a block.
BYTES, _LEAST_ROWS = 2**25, 1024


class RowBlock(NamedTuple):
    """A file of encoded rows."""

    name: str
    rows: int


class Stage(NamedTuple):
    """What became of a partition: its blocks, impressions and clicks, and bad rows by complaint.

    If ``fault`` says why it cannot be used, there are none.
    """

    place: str
    blocks: tuple[RowBlock, ...] = ()
    rows: int = 0
    clicks: float = 0.0
    skipped: tuple[tuple[str, int], ...] = ()
    fault: str | None = None


class PartitionTask(NamedTuple):
    """A partition to be made into blocks, as a task for any process."""

    number: int
    partition: Partition
    plan: Plan
    folder: Folder
    told: Callable[[int], object] = int  # of rows as they are read


def staged(asked: PartitionTask) -> Stage:
    """The blocks of a partition, unless they are there already.

    What is wrong with it is said, not raised: all partitions are looked at before work is lost.
    """
    number, partition, plan, folder, told = asked
    mark = f"part-{number}"
    done = folder.read(mark)
    if done is not None:
        return restored(done[0])
    sheets = partition.sheets(plan.used, AT_ONCE[plan.together])
    try:
        stage = written(partition.place, sheets, plan, folder, mark, told)
    except ValueError as error:
        return Stage(partition.place, fault=str(error))
    folder.write(mark, stage._asdict(), {})
    return stage


def restored(given: dict[str, Any]) -> Stage:
    """The stage that a file tells of."""
    blocks = tuple(RowBlock(*each) for each in given["blocks"])
    skipped = tuple((kind, many) for kind, many in given["skipped"])
    return Stage(**{**given, "blocks": blocks, "skipped": skipped})


def written(
    place: str,
    sheets: Iterable[Sheet],
    plan: Plan,
    folder: Folder,
    mark: str,
    told: Callable[[int], object] = int,
) -> Stage:
    """Encode batches and write them as blocks of at most `BYTES`."""
    blocks: list[RowBlock] = []
    skipped: Counter[str] = Counter()
    rows, clicks = 0, 0.0

    def encoded() -> Iterator[CountedRows]:
        nonlocal rows, clicks
        for sheet in sheets:
            found, left_out = plan.encoded(sheet)
            skipped.update(left_out)
            rows += len(sheet) + len(sheet.faults) - left_out.total()
            clicks += found.clicks
            told(len(sheet))
            yield found

    for some in gathered(encoded(), plan):
        name = f"{mark}-rows-{len(blocks)}"
        found = {"counts": some.outcomes.counts, "items": some.items}
        arrays = {"X": some.X, "labels": some.outcomes.labels}
        folder.write_rows(name, arrays | {k: v for k, v in found.items() if v is not None})
        blocks.append(RowBlock(name, len(some.X)))
    return Stage(place, tuple(blocks), rows, clicks, tuple(skipped.items()))


def gathered(pieces: Iterable[CountedRows], plan: Plan) -> Iterator[CountedRows]:
    """Pieces as large as a block may be, and equal rows made one where the plan says so."""
    most = max(_LEAST_ROWS, BYTES // plan.row_bytes)
    kept: list[CountedRows] = []
    for piece in pieces:
        kept.append(piece)
        if sum(len(each.X) for each in kept) < most:
            continue
        joined = CountedRows.joined(kept)
        whole = joined.distinct() if plan.together else joined
        while len(whole.X) >= most:
            yield whole.between(0, most)
            whole = whole.between(most, len(whole.X))
        kept = [whole]
    rest = CountedRows.joined(kept) if kept else None
    if rest is not None and len(rest.X):
        yield rest.distinct() if plan.together else rest


def read(folder: Folder, name: str) -> CountedRows:
    """The rows of a block; a ValueError if it is gone."""
    arrays = folder.read_rows(name)
    if arrays is None:
        raise ValueError(
            f"{folder.place}/{name} is gone or damaged: delete {folder.place} and fit again"
        )
    counts = arrays.get("counts")
    kept = None if counts is None else counts.copy()
    return CountedRows(arrays["X"], Outcomes(arrays["labels"], kept), arrays.get("items"))


def numbered_items(folder: Folder, blocks: Sequence[RowBlock]) -> Any:
    """The items of all blocks, in the order in which they come first.

    Each block is told in a file which of them its own are.
    """
    found = [read(folder, block.name).items.dictionary for block in blocks]
    coded = pa.chunked_array(found).dictionary_encode().unify_dictionaries()
    for block, part in zip(blocks, coded.chunks, strict=True):
        folder.write_rows(_slots_of(block), {"table": part.indices.to_numpy()})
    return coded.chunk(0).dictionary


def of_items(folder: Folder, name: str, block: RowBlock) -> FloatArray:
    """The rows of a table of all items that are those of a block's."""
    return np.asarray(_table(folder, name)[_table(folder, _slots_of(block))])


def add_items(folder: Folder, table: FloatArray, block: RowBlock, mark: str) -> None:
    """Add what a block said of its items to a table of all, and delete the file of that."""
    name = f"{block.name}-own-{mark}"
    table[_table(folder, _slots_of(block))] += _table(folder, name)
    folder.remove(name)


def _table(folder: Folder, name: str) -> Any:
    found = folder.read_rows(name)
    if found is None:
        raise ValueError(f"{folder.place}/{name} is gone or damaged: the same command makes it")
    return found["table"]


def _slots_of(block: RowBlock) -> str:
    return f"{block.name}-slots"


def merged(folder: Folder, blocks: Iterable[RowBlock], most: int) -> CountedRows | None:
    """The distinct rows of all blocks; None if there are more than ``most``."""
    # Blocks wait until they have as many rows as are distinct: else each would look through all.
    kept: list[CountedRows] = []
    for block in blocks:
        kept.append(read(folder, block.name))
        if sum(len(each.X) for each in kept) >= 2 * len(kept[0].X):
            kept = [CountedRows.joined(kept).distinct()]
        if len(kept[0].X) > most:
            return None
    rows = CountedRows.joined(kept).distinct()
    return rows if len(rows.X) <= most else None

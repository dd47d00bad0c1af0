"""Other libraries on the same files, each in a process of its own."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from vowpalwabbit import Workspace

from studies.scale.costs import REWARD, Cost


def so_far(started: float) -> Cost:
    """Of this process, which another started at that time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor = used.ru_utime + used.ru_stime
    return Cost(time.time() - started, processor, used.ru_maxrss / 1024.0)


def vowpal(log: Path, held_out: Path, started: float) -> Cost:
    """One pass in the text format of Vowpal Wabbit, which its own parser reads."""
    text = log.parent / "log.vw"
    with text.open("wb") as file:
        for part in sorted(log.glob("*.parquet")):
            for batch in pyarrow.parquet.ParquetFile(part).iter_batches(2**17):
                file.write(_lines(batch))
    model = log.parent / "model.vw"
    options = "--loss_function logistic --no_stdin --quiet"
    Workspace(f"{options} -d {text} -f {model}").finish()
    cost, table = so_far(started), pyarrow.parquet.read_table(held_out)
    reader = Workspace(f"{options} -t -i {model} --link logistic")
    lines = _lines(table.combine_chunks().to_batches()[0]).decode().splitlines()
    chances = [reader.predict(line) for line in lines]
    return cost._replace(loss=float(log_loss(table[REWARD].to_numpy(), chances)))


def _lines(batch: pa.RecordBatch) -> bytes:
    names = [name for name in batch.schema.names if name != REWARD]
    labels = np.where(batch[REWARD].to_numpy(zero_copy_only=False), "1 |", "-1 |")
    columns = [pa.array(labels)]
    for place, name in enumerate(names):
        numbers = pa.compute.cast(batch[name], pa.string())
        columns.append(pa.compute.binary_join_element_wise(f"f{place}", numbers, ":"))
    joined = pa.compute.binary_join_element_wise(*columns, " ")
    return ("\n".join(joined.to_pylist()) + "\n").encode()


def descent(log: Path, held_out: Path, started: float) -> Cost:
    """One pass of SGDClassifier over the files, in batches."""
    model = SGDClassifier(loss="log_loss", random_state=0)
    for part in sorted(log.glob("*.parquet")):
        for batch in pyarrow.parquet.ParquetFile(part).iter_batches(2**16):
            model.partial_fit(*_arrays(pa.Table.from_batches([batch])), classes=[0, 1])
    cost, (X, y) = so_far(started), _arrays(pyarrow.parquet.read_table(held_out))
    return cost._replace(loss=float(log_loss(y, model.predict_proba(X)[:, 1])))


def _arrays(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    names = [name for name in table.column_names if name != REWARD]
    return np.column_stack([table[name] for name in names]), table[REWARD].to_numpy().astype(int)


if __name__ == "__main__":
    asked = {"vowpal": vowpal, "descent": descent}
    log, held_out, out = map(Path, sys.argv[2:5])
    out.write_text(json.dumps(asked[sys.argv[1]](log, held_out, float(sys.argv[5]))))

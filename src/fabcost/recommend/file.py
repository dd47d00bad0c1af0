"""Whatever can be saved as a file, and whatever a file holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fabcost import archive
from fabcost.features.schema import Schema
from fabcost.inference import file as learners
from fabcost.inference.online import FabCost
from fabcost.inference.wide.file import WIDE_LEARNER
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend import document
from fabcost.recommend.recommender import Recommender

SCHEMA = archive.Format("fabcost-schema", 1, "schema")
Savable = FabCost | WideFabCost | Recommender | Schema
_READ_HERE = (learners.LEARNER, WIDE_LEARNER, document.FORMAT, SCHEMA)


def save(what: Savable, path: str | os.PathLike[str]) -> None:
    """Write a learner, a recommender or a schema to ``path``, without pickle.

    A file already there is replaced in one step.  A recommender's has its schema and its learner.

    Examples
    --------
    >>> import fabcost, tempfile
    >>> learner = fabcost.FabCost(fabcost.Gaussian.isotropic(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fabcost.save(learner, f"{folder}/learner.fabcost")
    ...     fabcost.load(f"{folder}/learner.fabcost").seen
    0
    """
    if isinstance(what, FabCost):
        archive.replace_file(path, learners.to_bytes(what))
    elif isinstance(what, WideFabCost | Recommender):
        what.save(path)
    elif type(what) is Schema:
        archive.replace_file(path, archive.pack(SCHEMA, what.to_dict(), {}))
    else:
        raise TypeError(_refusal(what))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote; what it learns from then on has the bits of one that never stopped.

    A file that is truncated, altered or of a newer version is a ValueError that says so.

    Examples
    --------
    >>> load("no-such-file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file'
    """
    content, source = Path(path).read_bytes(), str(path)
    word = content[:40].partition(b" ")[0].decode("ascii", errors="replace")
    if word == document.FORMAT.word:
        return Recommender.from_bytes(content, source=source)
    if word == WIDE_LEARNER.word:
        return WideFabCost.load(path)
    if word == SCHEMA.word:
        settings, _ = archive.unpack(SCHEMA, content, source)
        with archive.told_of(source, SCHEMA):
            return Schema.from_dict(settings)
    if word == learners.LEARNER.word:
        return learners.from_bytes(content, source=source)
    known = ", ".join(f"{each.word!r}" for each in _READ_HERE)
    raise ValueError(
        f"{source} is not a saved learner, recommender or schema: it begins with none of {known}"
    )


def _refusal(what: object) -> str:
    kind = type(what).__name__
    if hasattr(what, "predict_proba"):
        return f"a {kind} is saved as scikit-learn's estimators are, by pickle, joblib or skops"
    return f"what is saved is a {kind} but must be a FabCost, WideFabCost, Recommender or Schema"

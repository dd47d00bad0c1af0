"""A learner as a file."""

from __future__ import annotations

import os
from pathlib import Path

from fabcost import archive
from fabcost.inference.online import FabCost
from fabcost.inference.saved.state import rests

LEARNER = archive.Format("fabcost-learner", 5, "learner")
_WITHOUT_INHERITED_EFFECTS = LEARNER._replace(version=4)
_AT_ONCE = LEARNER._replace(version=3)
_WITHOUT_FORGETTING = LEARNER._replace(version=2)
_WITHOUT_OWN_EFFECTS = LEARNER._replace(version=1)


def save(learner: FabCost, path: str | os.PathLike[str]) -> None:
    """Write a learner to ``path``; a file already there is replaced in one step.

    Examples
    --------
    >>> import fabcost, tempfile
    >>> learner = fabcost.FabCost(fabcost.Gaussian.isotropic(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fabcost.save(learner, f"{folder}/learner.fabcost")
    ...     fabcost.load(f"{folder}/learner.fabcost").seen
    0
    """
    archive.replace_file(path, to_bytes(learner))


def load(path: str | os.PathLike[str]) -> FabCost:
    """Read a learner; what it learns from then on has the same bits as if it had never stopped.

    A file that is truncated, altered or of a newer version is a ValueError that says so.

    Examples
    --------
    >>> load("no-such-file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file'
    """
    return from_bytes(Path(path).read_bytes(), source=str(path))


def to_bytes(learner: FabCost) -> bytes:
    """The file of `save` as bytes.

    Examples
    --------
    >>> from fabcost import Gaussian
    >>> to_bytes(FabCost(Gaussian.isotropic(2)))[:17]
    b'fabcost-learner 1'
    """
    return archive.pack(format_of(learner), *learner.state())


def format_of(learner: FabCost) -> archive.Format:
    """The oldest version that says all of a learner.

    Examples
    --------
    >>> from fabcost import Gaussian
    >>> format_of(FabCost(Gaussian.isotropic(2))).version
    1
    """
    visits_all = learner.visits_all and learner.most_kept is not None
    if learner.inheritance is not None and learner.inheritance.effects is not None:
        return LEARNER
    if learner.refreshing or rests(learner):
        return _WITHOUT_INHERITED_EFFECTS
    if learner.half_life is not None or visits_all or learner.inheritance is not None:
        return _AT_ONCE
    return _WITHOUT_OWN_EFFECTS if learner.own is None else _WITHOUT_FORGETTING


def from_bytes(content: bytes, *, source: str = "the data") -> FabCost:
    """The learner of `to_bytes`; ``source`` names the data in errors.

    Examples
    --------
    >>> from_bytes(b"something else")
    Traceback (most recent call last):
    ValueError: the data is not a saved learner: it does not begin with 'fabcost-learner'
    """
    settings, arrays = archive.unpack(LEARNER, content, source)
    with archive.told_of(source, LEARNER):
        return FabCost.restored(settings, arrays)

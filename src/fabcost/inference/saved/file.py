"""A learner as the bytes of a file."""

from __future__ import annotations

from fabcost import archive
from fabcost.inference.online import FabCost
from fabcost.inference.saved.state import rests

LEARNER = archive.Format("fabcost-learner", 7, "learner")


def to_bytes(learner: FabCost) -> bytes:
    """What `fabcost.save` writes of a learner.

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
    inherits, visits_all = learner.inheritance, learner.visits_all and learner.most_kept is not None
    if learner._caught_up()._past is not None:
        version = 7
    elif learner._caught_up()._history.rows.written_out:
        version = 6
    elif inherits is not None and inherits.effects is not None:
        version = 5
    elif learner.refreshing or rests(learner):
        version = 4
    elif learner.half_life is not None or visits_all or inherits is not None:
        version = 3
    else:
        version = 1 if learner.own is None else 2
    return LEARNER._replace(version=version)


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

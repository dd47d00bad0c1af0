"""A learner as the bytes of a file."""

from __future__ import annotations

from fabcost import archive
from fabcost.inference.online import FabCost
from fabcost.inference.saved.state import rests

LEARNER = archive.Format("fabcost-learner", 5, "learner")
_WITHOUT_INHERITED_EFFECTS = LEARNER._replace(version=4)
_AT_ONCE = LEARNER._replace(version=3)
_WITHOUT_FORGETTING = LEARNER._replace(version=2)
_WITHOUT_OWN_EFFECTS = LEARNER._replace(version=1)


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

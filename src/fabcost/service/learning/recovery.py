"""From the database to the learner that would be there if the server had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any

import numpy as np

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.inference import file as learner_file
from fabcost.inference.online import FabCost
from fabcost.service.learning.learner import Learnt, dense, learn
from fabcost.service.store.record import impression
from fabcost.service.store.rows import AppliedRow
from fabcost.service.store.store import Store
from fabcost.storage import archive
from fabcost.wire.settings import ModelSettings

FORMAT = archive.Format("fabcost-snapshot", 1, "snapshot")
_AT_ONCE = 256
_ROWS = ("X", "y")


def fresh(settings: ModelSettings, width: int) -> FabCost:
    """The learner of a new model, with a weight for each declared column.

    Examples
    --------
    >>> fresh(ModelSettings(prior_variance=4.0), 2).posterior.sd
    array([2., 2.])
    """
    return FabCost(
        Gaussian.isotropic(width, variance=settings.prior_variance),
        refresh=settings.refresh.schedule(),
        moments=settings.moments,
        window=settings.window,
    )


def snapshot(learner: FabCost) -> bytes:
    """The learner without the rows that the log has.

    Examples
    --------
    >>> snapshot(FabCost(Gaussian.isotropic(2)))[:18]
    b'fabcost-snapshot 1'
    """
    settings, arrays = learner.state()
    kept = {name: array for name, array in arrays.items() if name not in _ROWS}
    return archive.pack(FORMAT, settings, kept)


class Recovery:
    """The learner of one model after the impressions of its log up to some number.

    Parameters
    ----------
    store
        Has the log, the snapshots, and the learner that an imported model started from.
    model, settings
        Name and settings.
    width
        Columns of the schema when the model was made.
    complain
        Told of a snapshot that cannot be read.
    """

    def __init__(
        self,
        store: Store,
        model: str,
        settings: ModelSettings,
        *,
        width: int,
        complain: Callable[[str], object] = str,
    ) -> None:
        self._store = store
        self._model = model
        self._settings = settings
        self._width = width
        self._complain = complain
        self._base = store.model_base(model)

    def learner(self, head: int, *, from_snapshot: bool = True) -> FabCost:
        """The newest snapshot that can be read, then the log; or from the beginning."""
        learner, lsn = self.newest(head) if from_snapshot else (self._first(), 0)
        self.replay(learner, after=lsn, to=head)
        return learner

    def newest(self, head: int) -> tuple[FabCost, int]:
        """The learner of the newest snapshot that can be read, or the first; and its lsn."""
        for lsn in self._store.snapshot_numbers(self._model):
            if lsn <= head:
                try:
                    return self._restored(self._store.snapshot(self._model, lsn)), lsn
                except (ValueError, KeyError) as error:
                    self._complain(f"snapshot {lsn} of model {self._model!r} is left out: {error}")
        return self._first(), 0

    def replay(self, learner: FabCost, *, after: int, to: int) -> None:
        """Learn impressions of the log."""
        for some in self.chunks(after, to):
            learn(learner, some, self._settings.prior_variance)

    def impressions(self, after: int, to: int) -> list[Learnt]:
        """Impressions of the log."""
        return list(chain.from_iterable(self.chunks(after, to)))

    def chunks(self, after: int, to: int) -> Iterable[list[Learnt]]:
        """Impressions of the log, some at a time."""
        return _chunks(self._store.log(self._model, after=after, to=to))

    def snapshot(self, learner: FabCost) -> bytes:
        """What `learner` reads again; an imported model's has all rows."""
        return snapshot(learner) if self._base is None else learner_file.to_bytes(learner)

    def _first(self) -> FabCost:
        if self._base is not None:
            return learner_file.from_bytes(self._base, source=f"the imported model {self._model!r}")
        return fresh(self._settings, self._width)

    def _restored(self, content: bytes) -> FabCost:
        kind = FORMAT if self._base is None else learner_file.LEARNER
        settings, arrays = archive.unpack(kind, content, "the snapshot")
        _check_arithmetic(settings)
        if self._base is not None:
            return FabCost.restored(settings, arrays)
        kept, seen = arrays["site_precision"].size, settings["seen"]
        window = settings["window"] or max(seen, 1)
        arrays["X"] = np.zeros((kept, arrays["mean"].size))
        arrays["y"] = np.zeros(kept)
        slot = seen - kept
        for chunk in self.chunks(slot, seen):
            slots = np.arange(slot, slot + len(chunk)) % window
            arrays["X"][slots] = dense([each.impression for each in chunk], arrays["mean"].size)
            arrays["y"][slots] = [each.label for each in chunk]
            slot += len(chunk)
        if slot != seen:
            raise ValueError(f"it has seen {seen} impressions but the log has {slot}")
        return FabCost.restored(settings, arrays)


def _check_arithmetic(settings: dict[str, Any]) -> None:
    """A ValueError for what another version computed: it has not the bits that the log has now."""
    found = settings.get("arithmetic", 0)
    if found != kernels.ARITHMETIC:
        raise ValueError(
            f"its arithmetic is {found} but this version's is {kernels.ARITHMETIC}: "
            "the log is learnt again"
        )


def _chunks(rows: Iterable[AppliedRow]) -> Iterable[list[Learnt]]:
    log = (Learnt(impression(row.features), row.label) for row in rows)
    while chunk := list(islice(log, _AT_ONCE)):
        yield chunk

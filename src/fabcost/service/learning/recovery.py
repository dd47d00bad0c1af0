"""From the database to the learner that would be there if the server had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.inference import file as learner_file
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.service.learning.learner import Learning, Learnt, Saving, dense
from fabcost.service.store.record import impression
from fabcost.service.store.store import Store
from fabcost.storage import archive
from fabcost.wire.errors import TakenOverError
from fabcost.wire.settings import ModelSettings

FORMAT = archive.Format("fabcost-snapshot", 1, "snapshot")
_AT_ONCE = 256
#: Impressions that may wait in memory for a refresh while the log is read.
_MOST_BEHIND = 20_000
_ROWS = ("X", "y")


class StoppedLoadingError(Exception):
    """Nobody waits for the models any more."""


class Progress:
    """Told by the thread that loads, read and stopped by others."""

    def __init__(self) -> None:
        self._text = "loading"
        self._models = self._done = 0
        self._after = self._to = 0
        self._stopped = False

    def __str__(self) -> str:
        return self._text

    def stop(self) -> None:
        """Let the thread that loads end soon."""
        self._stopped = True

    def begin(self, *, models: int) -> None:
        """So many models are to be loaded."""
        self._models = models
        self._say()

    def replay(self, *, after: int, to: int) -> None:
        """Impressions of the next model's log are to be learnt."""
        self._after, self._to = after, to

    def learnt(self, lsn: int) -> None:
        """They were, up to one."""
        self._say(f", {lsn - self._after:,} of {self._to - self._after:,} impressions of the next")

    def loaded(self) -> None:
        """One more model is loaded."""
        self._done += 1
        self._say()

    def _say(self, more: str = "") -> None:
        if self._stopped:
            raise StoppedLoadingError
        self._text = f"loading, {self._done} of {self._models} models{more}"


@dataclass(eq=False)
class Recovery:
    """The learner of one model after the impressions of its log up to some number.

    The ``store`` has the log, the snapshots, and the learner that an imported model started from;
    the schema had ``width`` columns when the model was made.  ``complain`` is told of a snapshot
    that cannot be read, ``refreshed`` the seconds of each refresh.
    """

    store: Store
    model: str
    settings: ModelSettings
    width: int
    complain: Callable[[str], object] = str
    refreshed: Callable[[float], object] = float

    def __post_init__(self) -> None:
        self._base = self.store.model_base(self.model)

    def learning(self, head: int, progress: Progress) -> Learning:
        """As after the log: long refreshes go on in the background, as they did before.

        The learner is written down on the way, and in the end if that was long.
        """
        learner, newest = self.newest(head)
        saving = Saving(self.snapshot, newest)
        learning = self._begun(learner, newest, saving)
        progress.replay(after=newest, to=head)
        for some in self.chunks(newest, head):
            learning.apply(some)
            if learning.lag > _MOST_BEHIND:
                learning.wait()
            if learning.failure is not None:
                raise learning.failure
            saving.write(self.store, self.model)
            progress.learnt(learning.lsn)
        if saving.lsn > newest and learning.learner is not None:
            saving.pack(learning.learner, learning.lsn)
            saving.write(self.store, self.model)
        return learning

    def provisional(self, head: int, failure: Exception) -> Learning:
        """From the prior, where the log cannot be learnt; nothing of it is ever written."""
        learner = FabCost(self._prior(), refresh=Refresh.never(), moments=self.settings.moments)
        learning = self._begun(learner, head, None)
        learning.failure = failure
        return learning

    def _begun(self, learner: FabCost, lsn: int, saving: Saving | None) -> Learning:
        return Learning(
            learner,
            lsn,
            prior_variance=self.settings.prior_variance,
            refreshed=self.refreshed,
            saving=saving,
        )

    def newest(self, head: int) -> tuple[FabCost, int]:
        """The learner of the newest snapshot that can be read, or the first; and its lsn."""
        for lsn in self.store.snapshot_numbers(self.model):
            if lsn <= head:
                try:
                    return self._restored(self.store.snapshot(self.model, lsn)), lsn
                except (ValueError, KeyError) as error:
                    self.complain(f"snapshot {lsn} of model {self.model!r} is left out: {error}")
        return self.first(), 0

    def chunks(self, after: int, to: int) -> Iterator[list[Learnt]]:
        """Impressions of the log, some at a time."""
        rows = self.store.log(self.model, after=after, to=to)
        log = (Learnt(impression(row.features), row.label) for row in rows)
        while chunk := list(islice(log, _AT_ONCE)):
            yield chunk

    def snapshot(self, learner: FabCost) -> bytes:
        """The learner without the rows that the log has; an imported model's has all rows."""
        if self._base is not None:
            return learner_file.to_bytes(learner)
        settings, arrays = learner.state()
        kept = {name: array for name, array in arrays.items() if name not in _ROWS}
        return archive.pack(FORMAT, settings, kept)

    def first(self) -> FabCost:
        """The learner before the log."""
        if self._base is not None:
            return learner_file.from_bytes(self._base, source=f"the imported model {self.model!r}")
        return FabCost(
            self._prior(),
            refresh=self.settings.refresh.schedule(),
            moments=self.settings.moments,
            window=self.settings.window,
        )

    def _prior(self) -> Gaussian:
        return Gaussian.isotropic(self.width, variance=self.settings.prior_variance)

    def _restored(self, content: bytes) -> FabCost:
        kind = FORMAT if self._base is None else learner_file.LEARNER
        settings, arrays = archive.unpack(kind, content, "the snapshot")
        if settings.get("arithmetic", 0) != kernels.ARITHMETIC:
            raise ValueError(
                f"its arithmetic is {settings.get('arithmetic', 0)} but this version's is "
                f"{kernels.ARITHMETIC}: the log is learnt again"
            )
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


@dataclass
class Keeper:
    """What the writer knows of a model: also the lsn of its last impression.

    ``catalogue`` is the version that the loop was told of.
    """

    settings: ModelSettings
    recovery: Recovery
    learning: Learning
    head: int
    catalogue: int = 0

    def catch_up(self, head: int) -> None:
        """Learn what the log has beyond what was heard of, after a connection was lost."""
        if head < self.head:
            raise TakenOverError(
                f"the log of model {self.recovery.model!r} ends at {head} "
                f"but this server wrote {self.head}"
            )
        if head > self.head:
            impressions = list(chain.from_iterable(self.recovery.chunks(self.head, head)))
            self.head = head
            self.learning.apply(impressions)

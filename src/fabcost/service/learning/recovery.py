"""From the database to the learner that would be there if the server had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from fabcost import archive, kernels
from fabcost.features.hashed import HashedSchema
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.inference.history import SPARSE
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.online import FabCost
from fabcost.inference.saved import file as learner_file
from fabcost.inference.schedule import Refresh
from fabcost.inference.wide import file as wide_file
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend.surprise import Surprise
from fabcost.recommend.weights import Start, wide_learner
from fabcost.service.learning.follower import (
    BySchema,
    Follower,
    Growth,
    Learnt,
    OneVariance,
    dense,
    sparse,
)
from fabcost.service.learning.learner import Learning, Saving
from fabcost.service.learning.wide import AnyFollower, WideFollower
from fabcost.service.store.rows import AppliedRow, impression
from fabcost.service.store.store import Store
from fabcost.sparse import SparseRows
from fabcost.wire.settings import ModelSettings, WideSettings

FORMAT = archive.Format("fabcost-snapshot", 1, "snapshot")
_AT_ONCE = 256
#: Impressions that may wait in memory for a refresh while the log is read.
_MOST_BEHIND = 20_000
_ROWS = ("X", "y", *SPARSE)
#: Where a snapshot says how often the schema had grown, an imported learner of its prior, and
#: a snapshot how late outcomes were predicted.
_STEPS, _GIVEN, _LATE = "schema_steps", "given_weights", "surprise"


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
    the ``schema`` has grown with the log, and may go on growing.  ``complain`` is told of a
    snapshot that cannot be read, ``refreshed`` the seconds of each refresh.
    """

    store: Store
    model: str
    settings: ModelSettings
    schema: Schema
    complain: Callable[[str], object] = str
    refreshed: Callable[[float], object] = float

    def __post_init__(self) -> None:
        self._base = self.store.model_base(self.model)

    def learning(self, head: int, progress: Progress) -> Learning:
        """As after the log: long refreshes go on in the background, as they did before.

        The learner is written down on the way, and in the end if that was long.
        """
        follower, newest = self.newest(head)
        saving = Saving(self.snapshot, newest)
        learning = Learning(follower, newest, refreshed=self.refreshed, saving=saving)
        progress.replay(after=newest, to=head)
        for some in self.chunks(newest, head):
            learning.apply(some)
            if learning.lag > _MOST_BEHIND:
                learning.wait()
            if learning.failure is not None:
                raise learning.failure
            saving.write(self.store, self.model)
            progress.learnt(learning.lsn)
        if saving.lsn > newest:
            learning.save(self.store, self.model)
        return learning

    def provisional(self, head: int, failure: Exception) -> Learning:
        """From the prior, where the log cannot be learnt; nothing of it is ever written."""
        follower = self._from_prior(Refresh.never())
        learning = Learning(follower, head, refreshed=self.refreshed)
        learning.failure = failure
        return learning

    def newest(self, head: int) -> tuple[AnyFollower, int]:
        """The learner of the newest snapshot that can be read, or the first; and its lsn."""
        is_whole = head == 0 or any(self.store.log(self.model, after=0, to=1))
        for lsn in self.store.snapshot_numbers(self.model):
            if lsn <= head:
                try:
                    content = self.store.snapshot(self.model, lsn)
                    return self._restored(content, learnt_again=is_whole), lsn
                except (ValueError, KeyError) as error:
                    self.complain(f"snapshot {lsn} of model {self.model!r} is left out: {error}")
        if not is_whole:
            raise ValueError("the beginning of its log was deleted, and no snapshot can be read")
        return self.first(), 0

    def chunks(self, after: int, to: int) -> Iterator[list[Learnt]]:
        """Impressions of the log, some at a time."""
        rows = self.store.log(self.model, after=after, to=to)
        log = (learnt_of(row, self.settings) for row in rows)
        while chunk := list(islice(log, _AT_ONCE)):
            yield chunk

    def snapshot(self, follower: AnyFollower) -> bytes:
        """The learner without the rows that the log has, unless it is an imported model's.

        Or unless rows of the log are deleted.
        """
        if isinstance(follower, WideFollower):
            settings, arrays = follower.state()
            return archive.pack(FORMAT, settings | {_LATE: follower.late.state()}, arrays)
        settings, arrays = follower.learner.state()
        settings[_LATE] = follower.late.state()
        del settings["most_work"]  # it is that of a follower
        if isinstance(follower.growth, BySchema):
            settings[_STEPS] = follower.growth.steps
        if self._base is not None:
            return archive.pack(learner_file.format_of(follower.learner), settings, arrays)
        if not self.store.trims:
            arrays = {name: array for name, array in arrays.items() if name not in _ROWS}
        return archive.pack(FORMAT, settings, arrays)

    def first(self) -> AnyFollower:
        """The learner before the log."""
        if self._base is None:
            return self._from_prior(self.settings.refresh.schedule())
        learner = from_base(self._base, f"the imported model {self.model!r}")
        if isinstance(learner, WideFabCost):
            return WideFollower(learner)
        return Follower(learner, self._growth())

    def _growth(self) -> Growth:
        given = 0
        if self._base is not None:
            given = archive.unpack(learner_file.LEARNER, self._base, "the base")[0].get(_GIVEN, 0)
        return growth_of(self.settings, self.schema, given)

    def _from_prior(self, refresh: Refresh) -> AnyFollower:
        belief = self.settings.belief
        if not isinstance(belief, UnsetType):
            return WideFollower(new_wide_learner(self.settings, belief))
        prior = schema_of(self.settings).prior(self.settings.variances())
        return Follower(new_learner(self.settings, prior, refresh), self._growth())

    def _restored(self, content: bytes, *, learnt_again: bool = True) -> AnyFollower:
        """A snapshot; one of other bits only if the log cannot be learnt again."""
        wide = self.settings.belief is not UNSET
        kind = FORMAT if self._base is None or wide else learner_file.LEARNER
        settings, arrays = archive.unpack(kind, content, "the snapshot")
        if learnt_again and settings.get("arithmetic", 0) != kernels.ARITHMETIC:
            raise ValueError(
                f"its arithmetic is {settings.get('arithmetic', 0)} but this version's is "
                f"{kernels.ARITHMETIC}: the log is learnt again"
            )
        late = Surprise.restored(settings.get(_LATE, {}))
        if wide:
            return WideFollower(WideFabCost.restored(settings, arrays), late=late)
        if "mean" not in settings.get("half_life", {"mean": ""}):
            raise ValueError("its mean went back to the prior's: the log is learnt again")
        growth = self._growth()
        if isinstance(growth, BySchema):
            # The learner has what came with them already.
            growth.go_to(settings[_STEPS])
        if self._base is None and "y" not in arrays:
            self._add_rows(settings, arrays)
        return Follower(FabCost.restored(settings, arrays), growth, late)

    def _add_rows(self, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """The impressions that a learner keeps, from the log."""
        kept, seen, width = arrays["site_precision"].size, settings["seen"], arrays["mean"].size
        thin = bool(settings.get("written_out"))
        X, y, pieces, done = np.zeros((0 if thin else kept, width)), np.zeros(kept), [], 0
        for chunk in self.chunks(seen - kept, seen):
            # The oldest is where the next one goes, or the first.
            slots = (settings["slot"] + np.arange(done, done + len(chunk))) % kept
            impressions = [each.impression for each in chunk]
            if thin:
                pieces.append(sparse(impressions, width))
            else:
                X[slots] = dense(impressions, width)
            clicks = np.array([each.reward for each in chunk])
            y[slots] = np.where(clicks > 1.0 - clicks, 1.0, -1.0)
            done += len(chunk)
        if done != kept:
            raise ValueError(f"it has seen {seen} impressions but the log has {seen - kept + done}")
        arrays |= {"y": y} if thin else {"X": X, "y": y}
        if thin:
            rows = SparseRows.joined(pieces)[(np.arange(kept) - settings["slot"]) % kept]
            arrays |= dict(zip(SPARSE, rows.arrays, strict=True))


def learnt_of(row: AppliedRow, settings: ModelSettings) -> Learnt:
    """An impression of the log."""
    fraction = settings.fraction(row.value)
    return Learnt(impression(row.features), row.label, row.item, row.made, fraction)


def new_learner(
    settings: ModelSettings, prior: Gaussian | Inheritance, refresh: Refresh
) -> FabCost:
    """A learner as the settings have it, that has seen nothing."""
    half_life = settings.half_life
    learner = FabCost(
        prior,
        refresh=refresh,
        moments=settings.moments,
        most_kept=settings.most_kept or settings.window,
        half_life=half_life.half_life() if half_life else None,
        own_variance=settings.variances().items,
    )
    learner.visits_all = settings.window is None
    return learner


def new_wide_learner(
    settings: ModelSettings, belief: WideSettings, start: Start | None = None
) -> WideFabCost:
    """The same for a wide belief, which may start from another."""
    half_life = settings.half_life
    how = half_life.half_life() if half_life else None
    return wide_learner(belief.wide(), how, start, settings.moments)


def from_base(base: bytes, source: str = "the base") -> FabCost | WideFabCost:
    """The learner of `to_base`."""
    if base.startswith(wide_file.WIDE_LEARNER.word.encode()):
        return WideFabCost.restored(*archive.unpack(wide_file.WIDE_LEARNER, base, source))
    return learner_file.from_bytes(base, source=source)


def to_base(learner: FabCost | WideFabCost, given: int) -> bytes:
    """An imported learner, whose first ``given`` weights keep their prior."""
    if isinstance(learner, WideFabCost):
        return wide_file.to_bytes(learner)
    settings, arrays = learner.state()
    if given:
        settings[_GIVEN] = given
    return archive.pack(learner_file.format_of(learner), settings, arrays)


def growth_of(settings: ModelSettings, now: Schema, given: int = 0) -> Growth:
    """How a model's learner grows that has the weights of its first schema."""
    variances = settings.variances()
    if not follows_schema(settings, now):
        return OneVariance(variances.numbers)
    return BySchema(variances, now, schema_of(settings), given)


def follows_schema(settings: ModelSettings, schema: Schema) -> bool:
    """Whether a model's learner must know of every step of its schema, not of its columns only."""
    if isinstance(schema, HashedSchema):
        return False
    scaled = schema.openness is not None and schema.openness.scaled
    return scaled or settings.prior is not UNSET


def schema_of(settings: ModelSettings) -> Schema:
    """The schema of a new model."""
    if not isinstance(settings.belief, UnsetType):
        given = settings.schema
        known = Schema.open() if given is None else Schema.from_dict(given, most_columns=None)
        return HashedSchema(known, settings.belief.bits)
    if settings.schema is None:
        # As it was before there was a prior by groups.
        return Schema.open(scaled=settings.prior is not UNSET)
    schema = Schema.from_dict(settings.schema, most_columns=settings.most_weights)
    if schema.width == 0:
        raise ValueError("the schema has no columns yet: give it a bias or a declared feature")
    return schema


@dataclass
class Keeper:
    """What the writer knows of a model: also the lsn of its last impression.

    ``catalogue`` is the version that the loop was told of; ``missed`` are impressions before
    ``head`` that were not learnt yet.  Each of the ``forks`` is how often the schema had grown
    when it was found to have grown on another server.
    """

    settings: ModelSettings
    recovery: Recovery
    learning: Learning
    head: int
    catalogue: int = 0
    created: float = 0.0
    missed: list[Learnt] = field(default_factory=list)
    forks: list[int] = field(default_factory=list)

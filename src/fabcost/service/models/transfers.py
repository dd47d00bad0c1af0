"""Logs and models that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET

from fabcost.features.reader import Reader, ReadItems
from fabcost.service.models.candidates import encoded
from fabcost.service.models.decisions import Clock
from fabcost.service.models.load import MadeOf, from_file, from_start, to_file
from fabcost.service.models.model import Model
from fabcost.service.models.registry import Registry
from fabcost.service.models.views import in_full
from fabcost.service.store.rows import DecisionRecord, DecisionRow, StoredDecision
from fabcost.service.store.store import StoreThread
from fabcost.service.writer.requests import Feed, Write
from fabcost.service.writer.writer import Writer
from fabcost.wire.errors import (
    BusyError,
    InvalidRequestError,
    LearningFailedError,
    StoreAwayError,
    UnknownModelError,
)
from fabcost.wire.line import LoggedImpression
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackStatus, ModelAnswer
from fabcost.wire.settings import LONGEST_WAIT, ModelSettings

#: Logs that are exported at once; each holds a page or two in memory.
MOST_EXPORTS = 8
_LOOK_AGAIN_SECONDS = 0.25
#: How long an import keeps others waiting.
_TURN_SECONDS = 0.005


@dataclass(eq=False)
class Transfers:
    """Exports and imports.

    The ``exporter`` reads whole logs, and keeps nobody else waiting; ``new_id`` is for a decision
    that has none, from the time.
    """

    registry: Registry
    writer: Writer
    exporter: StoreThread
    clock: Clock
    new_id: Callable[[float], str]

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._exports = 0

    @contextmanager
    def exporting(self) -> Iterator[None]:
        """While a log is exported: an error if too many are already."""
        if self._exports >= MOST_EXPORTS:
            raise BusyError(f"{self._exports} exports of logs are under way, which is the most")
        self._exports += 1
        try:
            yield
        finally:
            self._exports -= 1

    async def export_log(self, name: str, *, after: int, limit: int) -> list[StoredDecision]:
        """A page of the log; pages of several exports are read by turns."""
        self.registry.of(name)
        return await self.exporter.ask(
            lambda store: in_full(store, store.history(name, after=after, limit=limit))
        )

    async def check_log(
        self, name: str, read: Callable[[], Iterable[tuple[int, LoggedImpression]]]
    ) -> None:
        """An error that names a line which cannot be imported, before anything is written.

        ``read`` gives the lines with their numbers, as often as it is asked to.  From then on the
        schema has every feature of the log, so that no line can be refused later.
        """
        while True:
            schema, settings = self.registry.of(name).schema, self.registry.of(name).settings
            reader, known = schema.reader(), len(schema.features)
            try:
                await asyncio.to_thread(lambda: check_all(reader, read(), settings))  # noqa: B023
            except ValueError as error:
                raise InvalidRequestError(str(error)) from error
            if schema is self.registry.of(name).schema and known == len(schema.features):
                schema.grow_to(reader)
                return

    async def import_log(self, name: str, impressions: Sequence[LoggedImpression]) -> int:
        """Keep decisions of the past, and learn those whose outcome is known.

        The answer is how many are new, or have an outcome that was not known before.
        """
        model, now = self.registry.of(name), self.clock.now()
        rows = await self._logged_rows(model, impressions, now)
        if self.registry.of(name) is not model:
            raise UnknownModelError(name)
        writes: list[asyncio.Future[StoredDecision | bool]] = []
        feeds: dict[int, asyncio.Future[FeedbackStatus]] = {}
        for place, (row, each) in enumerate(zip(rows, impressions, strict=True)):
            writes.append(self._loop.create_future())
            steps = model.new_steps()
            self.writer.submit(Write(row, steps, None, writes[-1], model.steps_told, model.lineage))
            if each.value is not None:
                done = feeds[place] = self._loop.create_future()
                self.writer.submit(Feed((name, row.decision), each.value, "imported", now, done))
        written = await asyncio.gather(*writes)
        fed = dict(zip(feeds, await asyncio.gather(*feeds.values()), strict=True))
        if False in written:
            raise StoreAwayError("the decisions are in memory only")
        return sum(_is_news(each, fed.get(place)) for place, each in enumerate(written))

    async def _logged_rows(
        self, model: Model, impressions: Sequence[LoggedImpression], now: float
    ) -> list[DecisionRow]:
        """Made little by little: others are served in between."""
        rows, turn = [], self._loop.time()
        for each in impressions:
            if self._loop.time() - turn > _TURN_SECONDS:
                await asyncio.sleep(0)
                turn = self._loop.time()
            rows.append(logged_row(model, each, each.decision_id or self.new_id(now), now))
        return rows

    async def export_model(self, name: str) -> bytes:
        """The file of a `fabcost.Recommender` that goes on as this model would."""
        model = self.registry.of(name)
        keepers = self.writer.journal.keepers
        while True:
            copied = await self.writer.call(lambda _: keepers[name].learning.copied(), about=name)
            if copied is not None:
                schema = keepers[name].recovery.schema.to_dict()
                return await asyncio.to_thread(to_file, model.settings, schema, copied)
            if model.learning.failure is not None:
                raise LearningFailedError(name, model.learning.failure)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def import_model(
        self, name: str, content: bytes, settings: ModelSettings | None = None
    ) -> ModelAnswer:
        """A new model from a file of `fabcost.Recommender.save`."""
        return await self._make(name, partial(from_file, content, settings))

    async def start_model(
        self, name: str, content: bytes, settings: ModelSettings, discount: float | None
    ) -> ModelAnswer:
        """A new model whose prior is what such a file has learnt, at a discount."""
        return await self._make(name, partial(from_start, content, settings, discount))

    async def _make(self, name: str, read: Callable[[], MadeOf]) -> ModelAnswer:
        try:
            found, base = await asyncio.to_thread(read)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        return await self.registry.create_model(name, found, base)


def _is_news(written: StoredDecision | bool, fed: FeedbackStatus | None) -> bool:
    """Whether a decision is new, or had no outcome before this one."""
    if isinstance(written, bool):
        return written
    return written.resolved is None and fed == "applied"


def check_all(
    reader: Reader, numbered: Iterable[tuple[int, LoggedImpression]], settings: ModelSettings
) -> None:
    """An error that names the first line which a model cannot read, one after another.

    A sum of rewards may be beyond the ends between which values are fractions.
    """
    for number, each in numbered:
        try:
            reader.read(each.context, "context")
            ReadItems.by(reader, each.candidates)
            if each.value is not None and settings.aggregation != "sum":
                settings.check_value(each.value)
        except (ValueError, InvalidRequestError) as error:
            raise InvalidRequestError(f"line {number}: {error}") from error


def logged_row(model: Model, given: LoggedImpression, decision: str, now: float) -> DecisionRow:
    """A decision of the past as a row, which waits for its outcome: most have one at once."""
    place = list(given.candidates).index(given.item)
    request = DecisionRequest(context=given.context, candidates=given.candidates)
    scene, _ = model.scenes.of(request)
    shares, deadline = given.propensities, now + LONGEST_WAIT
    answer = DecisionAnswer(
        decision_id=decision,
        item=given.item,
        ranking=[given.item],
        scores=[0.0],
        propensities=None if shares is None else [shares[place]],
        arm="imported",
        posterior_version=model.learning.published.version,
        deadline=deadline,
    )
    record = DecisionRecord(
        context=given.context,
        candidates=list(given.candidates),
        answer=answer,
        mode=model.settings.mode,
        features=given.candidates,
        all_propensities=shares,
        excluded=list(given.excluded),
    )
    return DecisionRow(
        model=model.name,
        decision=decision,
        made=now if given.time is None else min(given.time, now),
        deadline=deadline,
        arm="imported",
        item=given.item,
        active=True,
        learns=given.item not in given.missing,
        features=model.written(scene.at(place).row),
        record=encoded(record),
        click_value=1.0 if given.click_value is UNSET else given.click_value,
        cost=given.cost or 0.0,
    )

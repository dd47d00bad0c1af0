from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from fabcost import FabCost, Schema, kernels
from fabcost.inference.sparse import memory
from fabcost.service.learning.recovery import Progress, Recovery, StoppedLoadingError
from fabcost.service.models.candidates import encoded
from fabcost.service.models.load import load_all
from fabcost.service.store.rows import DecisionRow, ModelRow, Resolution
from fabcost.service.store.store import Store, store_at
from fabcost.service.telemetry import Metrics
from fabcost.wire.errors import StoreAwayError
from fabcost.wire.settings import HalfLifeSettings, ModelSettings, RefreshSettings
from tests.service.core.learners import from_beginning, from_snapshot, impressions, replay
from tests.service.core.test_learning import same_bits, stream

SETTINGS = {
    "geometric": ModelSettings(prior_variance=10.0),
    "window": ModelSettings(prior_variance=10.0, window=16),
    "at": ModelSettings(prior_variance=10.0, refresh=RefreshSettings(kind="at", points=[20, 50])),
    "never": ModelSettings(prior_variance=10.0, refresh=RefreshSettings(kind="never")),
    "mackay": ModelSettings(prior_variance=10.0, moments="mackay"),
    "most kept": ModelSettings(prior_variance=10.0, most_kept=16),
    "half-life": ModelSettings(prior_variance=10.0, half_life=HalfLifeSettings(4.0)),
    "half-life in seconds": ModelSettings(
        prior_variance=10.0, half_life=HalfLifeSettings(300.0, "seconds")
    ),
    "both": ModelSettings(prior_variance=10.0, half_life=HalfLifeSettings(20.0), most_kept=16),
}
COUNT = 70
PLAIN = ModelSettings(prior_variance=10.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = store_at(str(tmp_path / "log.db"))
    store.open(take_over=True)
    with store.transaction():
        store.insert_model(ModelRow("cars", "{}", 0.0, 0.0, 0, 0), None)
        rows, resolutions = [], []
        for k, each in enumerate(stream(COUNT, growing=True, seed=5), start=1):
            features = encoded(each.impression)
            made = 60.0 * k
            row = ("cars", f"d{k}", made, made + 1, "bandit", "ad", True, True, features, "{}")
            rows.append(DecisionRow(*row))
            came = (made + 0.5, "feedback", 1.0, each.label, k)
            resolutions.append(Resolution("cars", f"d{k}", *came))
        store.insert_decisions(rows)
        store.resolve(resolutions)
        store.advance("cars", head=0, to=COUNT)
    return store


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_snapshot_leads_to_the_same_bits(store: Store, kind: str) -> None:
    settings = SETTINGS[kind]
    recovery = Recovery(store, "cars", settings, Schema.open(scaled=False))
    expected = from_beginning(recovery, COUNT).learner
    log = impressions(recovery, 0, COUNT)
    for lsn in (1, 15, 16, 17, 20, 33, 50, 51, COUNT):
        learner = from_beginning(recovery, 0)
        learner.learn(log[:lsn])
        with store.transaction():
            store.put_snapshot("cars", lsn, 0.0, recovery.snapshot(learner))
        recovered = from_snapshot(recovery, COUNT).learner
        assert same_bits(recovered.posterior, expected.posterior)
        assert recovered.next_refresh == expected.next_refresh
        assert recovered.refreshes == expected.refreshes
        assert recovered.kept == expected.kept
    if "half-life" in kind:
        assert expected.kept < COUNT / 2  # the others have faded


@pytest.mark.parametrize("kind", ["geometric", "most kept"])
def test_rows_without_their_zeros_come_back_from_the_log(
    store: Store, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS[kind]
    if kind == "most kept":
        settings = msgspec.structs.replace(settings, most_kept=66)
    recovery = Recovery(store, "cars", settings, Schema.open(scaled=False))
    expected = from_beginning(recovery, COUNT).learner
    monkeypatch.setattr(memory, "LARGE", 1)
    monkeypatch.setattr(kernels, "DENSE", 1)
    before = from_beginning(recovery, 0)
    before.learn(impressions(recovery, 0, COUNT - 1))
    assert before.learner._history.rows.written_out
    with store.transaction():
        store.put_snapshot("cars", COUNT - 1, 0.0, recovery.snapshot(before))
    recovered = from_snapshot(recovery, COUNT).learner
    assert recovered._history.rows.X.nbytes == 0
    assert same_bits(recovered.posterior, expected.posterior)
    assert recovered.refresh() == expected.refresh()
    assert same_bits(recovered.posterior, expected.posterior)


def test_a_snapshot_leaves_out_the_rows(store: Store) -> None:
    recovery = Recovery(store, "cars", PLAIN, Schema.open(scaled=False))
    learner = from_beginning(recovery, COUNT)
    assert (
        len(recovery.snapshot(learner)) < len(FabCost.state(learner.learner)[1]["X"].tobytes()) * 2
    )


def test_a_spoilt_snapshot_is_left_out_and_told(store: Store) -> None:
    complaints: list[str] = []
    recovery = Recovery(store, "cars", PLAIN, Schema.open(scaled=False), complain=complaints.append)
    expected = from_beginning(recovery, COUNT)
    content = bytearray(recovery.snapshot(expected))
    content[-1] ^= 1
    with store.transaction():
        store.put_snapshot("cars", COUNT, 0.0, bytes(content))
    assert same_bits(from_snapshot(recovery, COUNT).learner.posterior, expected.learner.posterior)
    assert "left out" in complaints[0]


@pytest.mark.parametrize("spoilt", [0, 1])
def test_a_start_reads_no_snapshot_but_the_newest_that_it_can(
    store: Store, spoilt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that come from the database are those of snapshots."""
    recovery = Recovery(store, "cars", PLAIN, Schema.open(scaled=False))
    learner = from_beginning(recovery, 0)
    contents: list[bytes] = []
    readable(store)
    with store.transaction():
        for lsn in (30, 60):
            replay(recovery, learner, after=learner.learner.seen, to=lsn)
            contents.append(recovery.snapshot(learner))
            store.put_snapshot("cars", lsn, 0.0, contents[-1])
        if spoilt:
            store.put_snapshot("cars", 60, 0.0, b"spoilt")
    read: list[bytes] = []
    run = store._run

    def watched(name: str, /, **parameters: object) -> list[tuple[Any, ...]]:
        rows = run(name, **parameters)
        read.extend(value for row in rows for value in row if isinstance(value, bytes))
        return rows

    monkeypatch.setattr(store, "_run", watched)
    loaded = load_all(store, str, Metrics())
    assert loaded.keepers["cars"].learning.published.lsn == COUNT
    assert len(read) == 1 + spoilt
    assert read[-1] == contents[-1 - spoilt]


class Told(Progress):
    """Keeps what it would say after each step, and may be stopped at the first."""

    def __init__(self, *, stopped: bool = False) -> None:
        super().__init__()
        self.said: list[str] = []
        self._ends = stopped

    def learnt(self, lsn: int) -> None:
        super().learnt(lsn)
        self.said.append(str(self))
        if self._ends:
            self.stop()

    def loaded(self) -> None:
        super().loaded()
        self.said.append(str(self))


def readable(store: Store) -> None:
    with store.transaction():
        store.update_model("cars", msgspec.json.encode(PLAIN).decode(), 0.0)


def test_loading_says_how_far_it_is(store: Store) -> None:
    readable(store)
    progress = Told()
    load_all(store, str, Metrics(), progress)
    replayed = f"loading, 0 of 1 models, {COUNT} of {COUNT} impressions of the next"
    assert progress.said == [replayed, "loading, 1 of 1 models"]


def test_loading_can_be_stopped(store: Store) -> None:
    readable(store)
    progress = Told(stopped=True)
    with pytest.raises(StoppedLoadingError):
        load_all(store, str, Metrics(), progress)
    assert len(progress.said) == 1
    with pytest.raises(StoreAwayError, match="not open"):
        store.models()


def test_a_snapshot_of_a_log_that_lost_rows_is_left_out(store: Store) -> None:
    complaints: list[str] = []
    recovery = Recovery(store, "cars", PLAIN, Schema.open(scaled=False), complain=complaints.append)
    learner = from_beginning(recovery, COUNT)
    learner.learn(impressions(recovery, 0, 5))
    with store.transaction():
        store.put_snapshot("cars", COUNT, 0.0, recovery.snapshot(learner))
    from_snapshot(recovery, COUNT)
    assert "but the log has" in complaints[0]

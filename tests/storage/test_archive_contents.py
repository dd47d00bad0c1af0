"""A file whose checksum is right but whose content is not that of a learner."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
import zipfile
from itertools import islice

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, Recommender, Refresh, Schema
from fabcost.archive import Array, pack, unpack
from fabcost.inference.saved.file import LEARNER, from_bytes, to_bytes
from fabcost.recommend.document import FORMAT
from tests.simulated import cold_start, correlated_prior
from tests.storage.mutations import altered, archived, mutations, overlapping, signed

CASES = [
    (Refresh.geometric(1.3), None),
    (Refresh.geometric(1.3), 9),
    (Refresh.at(7, 90), None),
    (Refresh.never(), None),
]


def taught(schedule: Refresh | None = None, window: int | None = None) -> FabCost:
    learner = FabCost(correlated_prior(), refresh=schedule, most_kept=window)
    learner.observe_many(*cold_start(20))
    return learner


def is_sound(belief: Gaussian) -> bool:
    return bool(np.isfinite(belief.mean).all() and np.isfinite(belief.root).all())


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize(("schedule", "window"), CASES)
def test_whatever_a_learner_file_says_it_is_refused_or_works(
    schedule: Refresh, window: int | None
) -> None:
    X, y = cold_start(30)
    refused = 0
    for what, settings, arrays in mutations(*taught(schedule, window).state()):
        try:
            learner = from_bytes(pack(LEARNER, settings, arrays))
        except ValueError:
            refused += 1
            continue
        assert to_bytes(from_bytes(to_bytes(learner))) == to_bytes(learner), what
        learner.observe_many(X, y)
        assert is_sound(learner.posterior), what
    assert refused > 200


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_whatever_a_recommender_file_says_it_is_refused_or_works() -> None:
    adverts = {"a": {"age": 1.5}, "b": {"age": 2.0}}
    saved = Recommender(Schema.open(), wait=50.0)
    for k in range(9):
        decision = saved.recommend({"hour": k % 3}, adverts, now=float(k))
        if k % 3:
            saved.feedback(decision.id, k % 2, now=float(k))
    for what, settings, arrays in mutations(*unpack(FORMAT, saved.to_bytes())):
        try:
            loaded = Recommender.from_bytes(pack(FORMAT, settings, arrays))
        except ValueError:
            continue
        assert Recommender.from_bytes(loaded.to_bytes()).to_bytes() == loaded.to_bytes(), what
        for k in range(100, 104):
            decision = loaded.recommend({"hour": k % 3}, adverts, now=float(k))
            loaded.feedback(decision.id, k % 2)
        assert is_sound(loaded.learner.posterior), what


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"next": -1}, "next is -1 but must be a whole number of at least 0"),
        ({"next": 5}, "next is 5 but after 20 impressions must be"),
        ({"seen": "20"}, "seen is '20' but must be a whole number"),
        ({"window": 0}, "window is 0 but must be a whole number of at least 1"),
        ({"tolerance": None}, "tolerance is None but must be a finite number"),
        ({"refresh": []}, r"\[\] was found but must be a dictionary with 'kind'"),
        ({"slot": 3}, "slot is 3 but 20 impressions are kept"),
    ],
)
def test_what_was_found_and_expected(changes: dict[str, object], complaint: str) -> None:
    settings, arrays = taught().state()
    with pytest.raises(ValueError, match=complaint):
        FabCost.restored({**settings, **changes}, arrays)


@pytest.mark.parametrize("name", ["prior_mean", "prior_root", "mean", "root", "X", "site_shift"])
def test_numbers_that_are_none_are_named(name: str) -> None:
    settings, arrays = taught().state()
    spoilt = arrays[name].copy()
    spoilt.flat[0] = np.nan
    with pytest.raises(ValueError, match=f"{name} contains nan but must contain finite numbers"):
        FabCost.restored(settings, {**arrays, name: spoilt})


def compressed(**arrays: Array) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def with_text() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        members.writestr("notes.txt", "hello")
    return buffer.getvalue()


def settings_of(document: object) -> Array:
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)


def plain(**arrays: Array) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"no archive", "not a zip file"),
        (compressed(settings=settings_of({})), "'settings.npy', which is not a plain array"),
        (with_text(), "'notes.txt', which is not a plain array"),
        (plain(mean=np.zeros(2)), "KeyError"),
        (plain(settings=settings_of([])), "its settings are not a dictionary"),
        (plain(settings=np.zeros(3)), "is of no learner"),
    ],
)
def test_a_body_that_was_not_written_here(body: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_bytes(signed("fabcost-learner", body))


def test_whatever_bytes_an_archive_has_it_is_refused_or_works() -> None:
    refused = 0
    for content in islice(altered(to_bytes(taught()), np.random.default_rng(7)), 3_000):
        try:
            learner = from_bytes(content)
        except ValueError:
            refused += 1
            continue
        assert is_sound(learner.posterior)
    assert refused > 2_000


def said_of(content: bytes) -> tuple[str, float]:
    """What is wrong with a file, and the memory it took to find that out in times of its size."""
    tracemalloc.start()
    try:
        from_bytes(content)
    except ValueError as error:
        return str(error), tracemalloc.get_traced_memory()[1] / len(content)
    finally:
        tracemalloc.stop()
    return "nothing", 0.0


def of_shape(shape: bytes) -> bytes:
    """An archive with one array that claims to have this shape."""
    before = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': "
    return archived(settings=(before + shape + b", }").ljust(127) + b"\n")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (overlapping(50, 1_000_000), "its arrays have 51,...,... bytes together but the file has"),
        (overlapping(2_000, 10_000), "it holds more than 100 arrays"),
        (of_shape(b"(10000000000,)"), "should be of shape .10000000000,. but has another"),
        (of_shape(b"(0, 10000000000, 10000000000)"), "is of no learner that can be"),
    ],
    ids=["overlapping", "many", "large shape", "empty shape"],
)
def test_a_small_file_takes_little_memory(body: bytes, complaint: str) -> None:
    content = signed("fabcost-learner", body)
    said, times = said_of(content)
    assert re.search(complaint, said), said
    assert times < 5.0 or times * len(content) < 1_000_000

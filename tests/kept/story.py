"""What was learnt before files were written, and what is learnt when they are read again.

``python -m tests.kept.story FOLDER`` wrote the files of this folder, and the digests of how each
story ends, with version 0.1.0 (commit 5adf368), a server of which it starts.  Only what users may
rely on is used here: the names of `fabcost`, HTTP and the command line.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import fabcost

ITEMS = {f"ad-{k}": {"make": ("ford", "kia", "opel")[k % 3], "age": k} for k in range(8)}
FILE = {"content-type": "application/octet-stream"}
#: Decisions that wait in the database; their deadlines were put off, as tests run on any day.
WAITING = [f"d-{k}" for k in range(24, 30)]
FAR = 4e9
MODEL = "/v1/models/news"


def numbers(count: int, seed: int) -> list[float]:
    """From -1 to 1, by whole numbers alone."""
    state, found = seed, []
    for _ in range(count):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        found.append((state >> 11) * 2.0**-52 - 1.0)
    return found


def learn(learner: fabcost.FabCost, seed: int) -> str:
    """Show a learner forty impressions; a digest of what it believes then."""
    X = np.array(numbers(200, seed)).reshape(40, 5)
    learner.observe_many(X, (X[:, 0] > 0.3).astype(int))
    return digest_of(learner)


def digest_of(learner: Any) -> str:
    posterior = learner.posterior
    content = posterior.mean.tobytes() + posterior.covariance.tobytes()
    return hashlib.sha256(content).hexdigest()


def recommend(recommender: fabcost.Recommender, rounds: int, waiting: int = 0) -> str:
    """Let a recommender choose, and answer all but the last few; a digest of choices and belief."""
    chosen = []
    for each in recommender.pending:
        recommender.feedback(each, clicked=each % 2 == 0)
    for k in range(rounds):
        decision = recommender.recommend({"device": ("mobile", "desktop")[k % 2]}, ITEMS)
        chosen.append(decision.item)
        if k < rounds - waiting:
            recommender.feedback(decision.id, clicked=decision.item in ("ad-1", "ad-4"))
    return hashlib.sha256(repr((chosen, digest_of(recommender.learner))).encode()).hexdigest()


def fill(http: httpx.Client) -> None:
    """A model with a catalogue, decisions, what became of most of them, and early feedback."""
    schema = {"refresh": {"kind": "geometric"}, "seed": 3, "reward_wait_seconds": 2_592_000.0}
    http.post("/v1/models", json={"name": "news", "settings": schema}).raise_for_status()
    http.put(f"{MODEL}/items", json={"items": ITEMS}).raise_for_status()
    for k in range(30):
        asked = {"decision_id": f"d-{k}", "context": {"device": ("mobile", "desktop")[k % 2]}}
        if k % 5 == 4:
            asked["candidates"] = {f"x-{k}": {"make": "ford", "age": k}, "y": {"make": "kia"}}
        made = http.post(f"{MODEL}/decisions", json=asked).raise_for_status().json()
        if f"d-{k}" not in WAITING:
            told = {"decision_id": f"d-{k}", "value": float(made["item"] in ("ad-1", "y"))}
            http.post(f"{MODEL}/feedback", json=told).raise_for_status()
    early = {"decision_id": "early", "value": 1.0}
    http.post(f"{MODEL}/feedback", json=early).raise_for_status()


def seen(http: httpx.Client) -> str:
    """A digest of what a server tells of the model."""
    weights = http.get(f"{MODEL}/posterior").raise_for_status().json()
    log = http.get(f"{MODEL}/log").raise_for_status().content
    items = http.get(f"{MODEL}/items").raise_for_status().json()
    told = json.dumps([weights["weights"], items, log.decode()], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def weights(http: httpx.Client, model: str = "news") -> str:
    """A digest of what a model has learnt."""
    found = http.get(f"/v1/models/{model}/posterior").raise_for_status().json()["weights"]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def answer_waiting(http: httpx.Client) -> list[str]:
    """Say what became of those that wait, and ask for an earlier decision again."""
    statuses = []
    for name in WAITING:
        told = {"decision_id": name, "value": float(name == "d-25")}
        answered = http.post(f"{MODEL}/feedback", json=told).raise_for_status().json()
        statuses.append(answered["status"])
    again = http.post(f"{MODEL}/decisions", json={"decision_id": "d-3"}).raise_for_status().json()
    return [*statuses, again["item"]]


@contextmanager
def served(database: Path) -> Iterator[httpx.Client]:
    """A server of the version that is installed."""
    options = ["--port", "0", "--database", str(database), "--log-level", "warning"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fabcost", "serve", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with httpx.Client(base_url=address, timeout=60.0) as http:
            yield http
    finally:
        process.terminate()
        process.wait(60)


def main(folder: Path) -> None:
    """Write the files, and how each story ends."""
    ends: dict[str, Any] = {}
    learner = fabcost.FabCost(fabcost.Gaussian.isotropic(5, variance=4.0))
    learn(learner, 1)
    fabcost.save(learner, folder / "learner.fabcost")
    ends["learner"] = learn(learner, 2)
    recommender = fabcost.Recommender(fabcost.Schema.open(), prior_variance=10.0, seed=5)
    recommend(recommender, 40, waiting=3)
    recommender.save(folder / "recommender.fabcost")
    ends["recommender"] = recommend(recommender, 40)
    database = folder / "service.db"
    with served(database) as http:
        fill(http)
        (folder / "model.fabcost").write_bytes(http.get(f"{MODEL}/file").raise_for_status().content)
        ends["model"] = weights(http)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE decisions SET deadline = ? WHERE resolved IS NULL", [FAR])
        connection.execute("UPDATE feedback SET received = ? WHERE status = 'parked'", [FAR])
        ends["version"] = connection.execute("SELECT version FROM schema_version").fetchone()[0]
        ends["snapshots"] = connection.execute("SELECT COUNT(*) FROM snapshots").fetchone()[0]
    (folder / "service.db.gz").write_bytes(gzip.compress(database.read_bytes(), mtime=0))
    with served(database) as http:
        ends["database"] = {"seen": seen(http), "answers": answer_waiting(http)}
        ends["database"]["weights"] = weights(http)
    for each in folder.glob("service.db*"):
        if each.suffix != ".gz":
            each.unlink()
    (folder / "ends.json").write_text(json.dumps(ends, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A process that has everything imported and compiled, and forks servers: a start takes a moment.

It is spoken to in lines of JSON: ``{"start": [flags], "log": path, "user": id, "folder": path}`` is
answered with a process id, ``{"wait": pid}`` with the exit status (minus the number of a signal).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import sys
import tempfile
from typing import Any, NoReturn

from fabcost import Recommender, Schema
from fabcost.__main__ import main
from fabcost.cli import application
from fabcost.service import server
from fabcost.service.http.app import Application
from fabcost.service.settings import Settings
from fabcost.service.telemetry import logger

READY = "ready"
_IMPORTED = (application, server, Application)


def warm_up() -> None:
    """Load whatever a server would load while it starts: kernels, and what the command imports."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["fabcost", "serve", "--show-config"]
        main()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(port=0, database=f"{folder}/warm.db", log_level="error")
        server.serve(
            settings, logger("error", "json"), lambda _: os.kill(os.getpid(), signal.SIGTERM)
        )
    recommender = Recommender(Schema.open(scaled=False), prior_variance=10.0, seed=0)
    catalogue = recommender.catalogue({"a": {"x": 1, "y": "one"}, "b": {"x": 2, "y": "two"}})
    for k in range(12):
        chosen = recommender.recommend({"k": k}, catalogue, draws=256, top_k=2)
        recommender.feedback(chosen.id, k % 2 == 0)
    # A server collects garbage when it starts: not among what all of them share.
    gc.collect()
    gc.freeze()


def become_server(flags: list[str], log: str, user: int | None, folder: str) -> NoReturn:
    os.setsid()
    os.chdir(folder)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(source, target)
    if user is not None:
        os.setuid(user)
    sys.argv = ["fabcost", "serve", *flags]
    status = 1
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def answer(request: dict[str, Any], running: set[int]) -> int:
    if "start" in request:
        pid = os.fork()
        if pid == 0:
            become_server(request["start"], request["log"], request["user"], request["folder"])
        running.add(pid)
        return pid
    _, status = os.waitpid(request["wait"], 0)
    running.discard(request["wait"])
    return os.waitstatus_to_exitcode(status)


def serve_requests() -> None:
    running: set[int] = set()
    try:
        for line in sys.stdin:
            sys.stdout.write(f"{answer(json.loads(line), running)}\n")
            sys.stdout.flush()
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    warm_up()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    serve_requests()

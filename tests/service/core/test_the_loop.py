"""What takes long is done beside the event loop, which serves all others meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fabcost.service import transfer
from fabcost.service.service import Service
from fabcost.wire.line import LoggedImpression
from fabcost.wire.messages import DecisionRequest, Record
from fabcost.wire.settings import ModelSettings
from tests.service.transfer.playing import play, served

LONG = {"to_file", "to_bytes", "pack", "view", "record", "line_of", "encode_lines"}


@contextmanager
def called_here() -> Iterator[set[str]]:
    """The names of the functions that are called in this thread."""
    names: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            names.add(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield names
    finally:
        sys.setprofile(before)


def test_models_logs_and_decisions_are_written_beside_the_loop(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await play(service, "here", 20)
        with called_here() as names:
            assert await service.export_model("here")
            assert await service.decisions("here", limit=20)
            assert (await service.decision("here", "d-3")).decision_id == "d-3"
            assert (await service.explain("here", "d-3")).contributions
            assert [piece async for piece in transfer.export(service, "here", "jsonl")]
        assert "export_model" in names
        assert not names & LONG

    served(tmp_path, work)


def test_a_page_of_large_decisions_is_shorter(tmp_path: Path) -> None:
    candidates: dict[str, Record] = {f"{k:0250d}": {} for k in range(1_000)}
    first = next(iter(candidates))

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        names = [f"d-{k}" for k in range(90)]
        lines = [
            LoggedImpression(decision_id=name, candidates=candidates, item=first) for name in names
        ]
        await service.import_log("here", lines)
        await service.decide("here", DecisionRequest(decision_id="small", candidates={"a": {}}))
        found: list[list[str]] = []
        before: int | None = None
        while before is not None or not found:
            page, before = await service.decisions("here", limit=90, before=before)
            found.append([each.decision_id for each in page])
        assert [name for page in found for name in page] == ["small", *reversed(names)]
        assert 20 <= len(found[0]) < 60
        page, before = await service.decisions("here", limit=1)
        assert ([each.decision_id for each in page], before is None) == (["small"], False)

    served(tmp_path, work)

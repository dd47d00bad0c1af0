"""A log whose disk is full."""

from __future__ import annotations

import io
from typing import Literal

import pytest

from fabcost.service.telemetry import logger


class Full(io.BytesIO):
    def write(self, _: object) -> int:
        raise OSError("no space left on device")


@pytest.mark.parametrize("form", ["json", "console"])
def test_what_cannot_be_written_is_lost(form: Literal["json", "console"]) -> None:
    stream = io.TextIOWrapper(Full(), write_through=True)
    logger("info", form, stream).info("listening")
    stream.detach()

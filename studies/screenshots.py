"""Pictures of the dashboard, and how soon it says something: ``python -m studies.screenshots``.

`fabcost demo` is started as anyone would, and looked at in Chromium from the moment at which it
says where it is.  Pictures go to ``docs/images``, seconds to ``docs/measurements/first-minute.md``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console

from studies.documents import DOCS, origin, write_page

IMAGES = DOCS.parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 1420}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 780},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
_WAIT = 120_000


class Shot(NamedTuple):
    """A picture: its file, the screen, and the colours that the reader asked for."""

    name: str
    screen: dict[str, Any]
    scheme: Literal["light", "dark"]


SHOTS = (
    Shot("dashboard", WIDE, "light"),
    Shot("dashboard-dark", WIDE, "dark"),
    Shot("dashboard-phone", PHONE, "light"),
    Shot("dashboard-phone-dark", PHONE, "dark"),
)
#: What the page must show, by what is waited for.
MOMENTS = {
    "the address": "body",
    "a first point in the chart": "#ctr .marker",
    "a first point whose outcomes are known": "#ctr .marker:not(.open)",
    "an interval of what the bandit earns": "#headline-title:is(.better, .worse, .early, .unknown)",
    "what has been learnt": "#learnt tbody tr",
}


class Moment(NamedTuple):
    """When something was there: seconds, and those of processors that the demonstration took."""

    seconds: float
    processor: float


class Demo(NamedTuple):
    """A demonstration: where it is, when its command was given, and its process."""

    address: str
    began: float
    process: int

    def now(self) -> Moment:
        """The moment."""
        return Moment(time.monotonic() - self.began, _spent(self.process))


def _spent(process: int) -> float:
    """Seconds of processors that a process and its children took, where the system tells."""
    folder = Path("/proc", str(process))
    fields = (folder / "stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    children = (folder / "task" / str(process) / "children").read_text(encoding="utf-8").split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_spent(int(child)) for child in children)


@contextmanager
def demo(folder: Path) -> Iterator[Demo]:
    """A demonstration that has said where it is."""
    began = time.monotonic()
    command = [sys.executable, "-m", "fabcost", "demo", "--out", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield Demo(_address(process), began, process.pid)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if "Dashboard:" in line:
            return line.split()[-1]
    raise OSError("the demonstration ended before it said where its dashboard is")


def watch(page: Page, running: Demo) -> dict[str, Moment]:
    """When each was there, from the command on."""
    page.goto(running.address)
    found = {}
    for name, selector in MOMENTS.items():
        page.locator(selector).first.wait_for(state="attached", timeout=_WAIT)
        found[name] = running.now()
    return found


def take(browser: Browser, address: str, shot: Shot) -> Path:
    """Save one picture, in few colours."""
    page = browser.new_page(**shot.screen, color_scheme=shot.scheme)
    page.goto(address)
    page.locator("#learnt tbody tr").first.wait_for(timeout=_WAIT)
    page.wait_for_timeout(1_500)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    path = IMAGES / f"{shot.name}.png"
    _with_few_colours(picture).save(path, optimize=True)
    page.close()
    return path


def _with_few_colours(picture: Image.Image) -> Image.Image:
    """The most frequent ones, nearly as they are: averages would be off in large areas."""
    found: Any = picture.getcolors(picture.width * picture.height)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in sorted(found)[-256:] for part in colour])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def page_of(moments: dict[str, Moment], load: float) -> str:
    """The page of the documentation; ``load`` is that of the machine when it began."""
    rows = [f"| {name} | {at.seconds:.1f} | {at.processor:.1f} |" for name, at in moments.items()]
    return "\n".join(
        [
            "# The first minute",
            "",
            origin("python -m studies.screenshots"),
            "",
            "`fabcost demo` after set-up, with kernels compiled, looked at in Chromium: seconds "
            "from the command to what is there. The address comes first, visitors with the "
            "server; 50 of them in a second, a tenth held back. What visitors need is loaded while "
            f"the server starts. When this was measured {load:.1f} other processes were running "
            "or waiting.",
            "",
            "| there is | after, s | of processors, s |",
            "| --- | ---: | ---: |",
            *rows,
            "",
        ]
    )


def main() -> None:
    """Look, wait, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of visitors, before pictures")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--only-watch", action="store_true", help="take no pictures")
    only.add_argument("--only-pictures", action="store_true", help="write no page")
    options = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        load = os.getloadavg()[0]
        with demo(Path(folder) / "demo") as running:
            moments = watch(browser.new_page(**WIDE), running)
            for name, at in moments.items():
                console.print(f"{at.seconds:6.1f} s, {at.processor:4.1f} s of processors: {name}")
            if not options.only_watch:
                time.sleep(options.seconds)
                for shot in SHOTS:
                    console.print(str(take(browser, running.address, shot)))
        browser.close()
    if not options.only_pictures:
        write_page("first-minute.md", page_of(moments, load))


if __name__ == "__main__":
    main()

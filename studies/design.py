"""Figures of measurements in the design for many machines: ``python -m studies.design``."""

from __future__ import annotations

import re

from studies.documents import DOCS

DESIGN = DOCS.parent / "explanation" / "internet-scale.md"
#: Decisions a day, and impressions of the database that was measured.
A_DAY, STORED = 1e9, "10,000,000"
WORLD = "20 fresh candidates", "the default", "0 s"


def cells(page: str, *first: str) -> list[str]:
    """What follows these cells in the first such row of a page's tables."""
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        found = [cell.strip() for cell in line.strip("|").split("|")]
        if tuple(found[: len(first)]) == first:
            return found[len(first) :]
    raise ValueError(f"{page} has no row of {' and '.join(first)}")


def quotes() -> dict[str, str]:
    """What the design says of the pages."""
    grouped, single = (
        cells("scale.md", f"fabcost fit{how}, 10 million rows")[1] for how in ("", " --no-group")
    )
    size = float(cells("starts.md", "PostgreSQL", STORED)[0].replace(",", ""))
    each = size / int(STORED.replace(",", ""))  # MB
    _, seconds, tens, hundreds = (-float(cell.split()[0]) for cell in cells("staleness.md", *WORLD))
    fits = f"""Ten million rows take {grouped} processor seconds where rows repeat, and
{single} where each is its own ([Logs larger than one machine](../measurements/scale.md))."""
    days = f"""A decision takes {1e3 * each:.1f} kB, indexes included (ten million take
{size / 1e3:.1f} GB, [Starts](../measurements/starts.md)), a billion a day
{A_DAY * each / 1e6:.1f} TB a day."""
    staleness = f"""While a model is new and ten visitors come a second, looks every 2.5 s cost
{seconds:.1f} % of the clicks, every 25 s {tens:.1f} %, and every 250 s {hundreds:.1f} %
([Staleness](../measurements/staleness.md))."""
    return {"fits": fits, "days": days, "staleness": staleness}


def written(design: str) -> str:
    """The design with what the pages have now."""
    for name, text in quotes().items():
        marked = rf"(?s)(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)"
        design, found = re.subn(marked, text.replace("\\", r"\\"), design)
        if found != 1:
            raise ValueError(f"{DESIGN} has {found} places for {name}")
    return design


if __name__ == "__main__":
    DESIGN.write_text(written(DESIGN.read_text(encoding="utf-8")), encoding="utf-8")

"""The table of the kills, for a terminal and for the documentation."""

from __future__ import annotations

from rich.table import Table

from studies.documents import origin
from studies.kills.book import Checked
from studies.kills.rounds import MIGRATION, SCENES, VISITS, Tally

#: By store, and by what was under way.
Tallies = dict[tuple[str, str], Tally]
COLD = "start with an empty compile cache"
KINDS = ("decisions", "feedback", "items", "imports", "models")
HEADINGS = (
    *("store", "under way", "kills", "in flight", *KINDS),
    *("lost", "doubled", "wrong", "digests equal"),
)
ABOUT = (
    "Server processes are killed by SIGKILL, one after the other, while visitors ask for decisions "
    "and say what became of them, and while something else is under way. “In flight” are the kills "
    "at which that something was asked for and not answered yet. For a refresh, the server had "
    "just said that it was running; for a stop, SIGTERM had come and the process had not ended; "
    "for a start, which follows a kill under visits that is counted with it, the server was not "
    "ready; for a migration, the database was found at an older version. An old database is all "
    "that a round left, in the tables of an earlier version. A server with an empty compile cache "
    "is a process of its own; it is killed while it compiles and afterwards, and the next one goes "
    "on with the cache as it is.",
    "After each kill another server starts, and everything that was ever acknowledged about that "
    "database is looked for: decisions as they were answered, feedback as its status says, items "
    "(those of one request by pieces, in their order), imported lines with their values, models "
    "made and deleted. The numbers of the log have no gaps, the counts of decisions are those of "
    "the log, and a line that is sent again is new only if it was not there. The columns count "
    "what was acknowledged since the look before. Digests are of all models, each beside one that "
    "another process learnt from the beginning of the log; for servers that compile for "
    "themselves, one "
    "that compiled for itself too, on x86-64 for a generic processor.",
)
NOTHING = "Nothing acknowledged was lost, nothing was there twice, and all bits are the same."


def cells(store: str, scene: str, tally: Tally) -> tuple[str, ...]:
    """One row of the table."""
    how = [each.how for each in tally.broken]
    numbers = [tally.kills, *([tally.in_flight] if scene not in (VISITS, COLD) else [])]
    flown = [f"{number:,}" for number in numbers] + ["–"] * (2 - len(numbers))
    acknowledged = [f"{tally.acknowledged[kind]:,}" for kind in KINDS]
    lost = [f"{how.count(kind):,}" for kind in ("lost", "doubled", "wrong")]
    return (store, scene, *flown, *acknowledged, *lost, f"{tally.equal:,} of {tally.digests:,}")


def total(tallies: Tallies) -> Tally:
    """All of them together."""
    together = Tally()
    for each in tallies.values():
        together.kills += each.kills
        together.in_flight += each.in_flight
        together.add(Checked(each.broken, each.digests, each.equal), each.acknowledged)
    return together


def rows(study: Tallies) -> list[tuple[str, ...]]:
    """The table, with everything together at its end."""
    ordered = {scene: place for place, scene in enumerate((*SCENES, MIGRATION, COLD))}
    found = sorted(study.items(), key=lambda each: (each[0][0], ordered[each[0][1]]))
    return [
        *(cells(*key, tally) for key, tally in found),
        cells("both", "all", total(study)),
    ]


def page(study: Tallies) -> str:
    """The page of the documentation."""
    lines = [HEADINGS, ("---", "---", *["---:"] * (len(HEADINGS) - 2)), *rows(study)]
    found = [f"- {each.how}: {each.what}" for each in total(study).broken]
    parts = [
        "# Killed servers",
        origin("python -m studies.kills --docs"),
        *ABOUT,
        "\n".join(f"| {' | '.join(each)} |" for each in lines),
        "\n".join(found) or NOTHING,
    ]
    return "\n\n".join(parts)


def as_table(study: Tallies) -> Table:
    """For a terminal."""
    table = Table(title="Killed servers")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
    for row in rows(study):
        table.add_row(*row)
    return table

"""The four ways through the house, step by step, as pictures."""

from __future__ import annotations

from typing import NamedTuple

from studies.handbook.architecture import (
    BOX,
    HEIGHT,
    THE_SERVICE,
    THE_WHOLE,
    Place,
    box,
    layers,
    svg,
)

STEP = 44


class Step(NamedTuple):
    """One room asks another for something, or hands something back."""

    start: str
    end: str
    said: str
    back: bool = False


class Flow(NamedTuple):
    """What happens, from the first step to the last."""

    name: str
    title: str
    steps: tuple[Step, ...]

    @property
    def rooms(self) -> list[str]:
        """Those that it enters, from the top of the house to its bottom."""
        met = {room for step in self.steps for room in (step.start, step.end)}
        order = [each for name in (THE_SERVICE, THE_WHOLE) for row in layers(name) for each in row]
        return sorted(met, key=order.index)


HTTP, SERVICE = "fabcost.service.http", "fabcost.service.service"
MODELS, WRITER = "fabcost.service.models", "fabcost.service.writer"
STORE, LEARNING = "fabcost.service.store", "fabcost.service.learning"
SERVER, INFERENCE = "fabcost.service.server", "fabcost.inference"
KERNELS, GAUSSIAN = "fabcost.kernels", "fabcost.gaussian"

DECISION = Flow(
    "decision",
    "A decision",
    (
        Step(HTTP, SERVICE, "context, candidates"),
        Step(SERVICE, MODELS, "choose by the posterior"),
        Step(MODELS, SERVICE, "item, scores, propensities", back=True),
        Step(SERVICE, WRITER, "write this decision"),
        Step(WRITER, STORE, "all that waits, at once"),
        Step(STORE, WRITER, "committed", back=True),
        Step(WRITER, SERVICE, "durable", back=True),
        Step(SERVICE, HTTP, "answer", back=True),
    ),
)
FEEDBACK = Flow(
    "feedback",
    "Feedback",
    (
        Step(HTTP, SERVICE, "decision, value"),
        Step(SERVICE, WRITER, "resolve this decision"),
        Step(WRITER, STORE, "outcome, next number"),
        Step(STORE, WRITER, "committed", back=True),
        Step(WRITER, LEARNING, "impressions, in order"),
        Step(LEARNING, INFERENCE, "observe; refresh when due"),
        Step(LEARNING, WRITER, "published: decisions see it", back=True),
        Step(WRITER, SERVICE, "learnt", back=True),
        Step(SERVICE, HTTP, "answer", back=True),
    ),
)
START = Flow(
    "start",
    "A start",
    (
        Step(SERVER, STORE, "open, migrate, begin an epoch"),
        Step(SERVER, SERVICE, "start"),
        Step(SERVICE, MODELS, "load every model"),
        Step(MODELS, LEARNING, "snapshot, then the log"),
        Step(LEARNING, STORE, "snapshot, impressions"),
        Step(LEARNING, INFERENCE, "observe what the log has"),
        Step(SERVICE, WRITER, "begin to write"),
        Step(SERVER, HTTP, "ready: serve"),
    ),
)
OBSERVE = Flow(
    "observe",
    "observe",
    (
        Step(INFERENCE, KERNELS, "ADF: one step"),
        Step(KERNELS, INFERENCE, "mean, root, site", back=True),
        Step(INFERENCE, KERNELS, "EP sweeps, when due"),
        Step(INFERENCE, GAUSSIAN, "the posterior, when asked for"),
    ),
)
ALL = (DECISION, FEEDBACK, START, OBSERVE)


def picture(flow: Flow) -> str:
    """Rooms side by side, steps from top to bottom; what is handed back is dashed."""
    wide, bottom = BOX + 30, HEIGHT + (len(flow.steps) + 1) * STEP
    middle = {room: (at + 0.5) * wide for at, room in enumerate(flow.rooms)}
    parts = [
        f'<line class="life" x1="{x:g}" y1="{HEIGHT}" x2="{x:g}" y2="{bottom:g}"/>'
        for x in middle.values()
    ]
    parts += [box(room, Place(x, 4)) for room, x in middle.items()]
    for at, step in enumerate(flow.steps):
        parts.append(_arrow(step, middle, HEIGHT + (at + 1) * STEP))
    return svg(wide * len(middle), bottom, flow.title, parts)


def _arrow(step: Step, middle: dict[str, float], y: float) -> str:
    start, end = middle[step.start], middle[step.end]
    tip = end - 3 if end > start else end + 3
    kind = "arrow back" if step.back else "arrow"
    return (
        f'<line class="{kind}" data-from="{step.start}" data-to="{step.end}" '
        f'x1="{start:g}" y1="{y:g}" x2="{tip:g}" y2="{y:g}"/>'
        f'<text class="said" x="{(start + end) / 2:g}" y="{y - 7:g}">{step.said}</text>'
    )

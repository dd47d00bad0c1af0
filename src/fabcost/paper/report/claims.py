"""What the paper says beside what was measured."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable"]


class PaperClaim(NamedTuple):
    """One row of the table of claims.

    Attributes
    ----------
    where
        The section or figure of the paper.
    claim
        What is claimed, in a sentence.
    paper
        The paper's own figure, or its words.
    measured
        Ours, with an interval where there is one.
    verdict
        By a rule on the numbers.
    reason
        Why the verdict is what it is.
    seconds
        How long the measurement took.
    details
        Every case behind ``measured``, by name, where there are too many for a row.
    main
        Whether a short table has it.
    """

    where: str
    claim: str
    paper: str
    measured: str
    verdict: Verdict
    reason: str
    seconds: float
    details: tuple[tuple[str, str], ...] = ()
    main: bool = False

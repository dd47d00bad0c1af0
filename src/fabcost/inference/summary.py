"""What is believed of weights, as a table for people: names, means, sds and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from fabcost.impressions import FloatArray

LEVEL = 0.95
_MOST_SHOWN = 20
_LONGEST_NAME = 34
_CELL = ' style="text-align:left"'


def sds_of(level: float) -> float:
    """Half the width in sds of the central interval of a normal law that has this probability.

    Examples
    --------
    >>> round(sds_of(0.95), 4)
    1.96
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level} but must lie between 0 and 1, as 0.95 does")
    return float(ndtri(0.5 + 0.5 * level))


@dataclass(frozen=True, eq=False)
class Summary:
    r"""The marginal belief of each weight, :math:`\mu_j \pm z\sqrt{\Sigma_{jj}}`.

    It prints as a table, and notebooks show it as one.  Of more than twenty weights those are
    shown that are the most sds from zero; all are in the columns.

    Attributes
    ----------
    title
        Whose weights, in words.
    names
        One for each weight.
    mean, sd
        Of each weight.
    level
        Probability of the intervals from `lower` to `upper`.
    facts
        What else there is to say, by name.

    Examples
    --------
    >>> print(Summary("two weights", ("bias", "age"), np.array([-1.0, 0.5]), np.array([0.2, 1.0])))
    two weights
                   mean         sd  95 % from         to
    bias             -1        0.2     -1.392     -0.608
    age             0.5          1      -1.46       2.46
    """

    title: str
    names: tuple[str, ...]
    mean: FloatArray
    sd: FloatArray
    level: float = LEVEL
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sds_of(self.level)
        if not len(self.names) == self.mean.size == self.sd.size:
            raise ValueError(
                f"there are {len(self.names)} names but {self.mean.size} weights: one for each"
            )

    @property
    def lower(self) -> FloatArray:
        """Where the intervals begin."""
        return self.mean - sds_of(self.level) * self.sd

    @property
    def upper(self) -> FloatArray:
        """Where the intervals end."""
        return self.mean + sds_of(self.level) * self.sd

    @property
    def strongest(self) -> npt.NDArray[np.intp]:
        """Places of all weights, those that are the most sds from zero first."""
        return np.argsort(-np.abs(self.mean / self.sd), kind="stable")

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: what `pandas.DataFrame` and `polars.DataFrame` take.

        Examples
        --------
        >>> Summary("one", ("bias",), np.zeros(1), np.ones(1), level=0.5).to_dict()["name"]
        ['bias']
        """
        columns = {"mean": self.mean, "sd": self.sd, "lower": self.lower, "upper": self.upper}
        return {"name": list(self.names), **{name: columns[name].tolist() for name in columns}}

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        shown, left_out = self._shown()
        head = ["", *self._head()]
        lines = [[_cut(self.names[i]), *self._cells(i)] for i in shown]
        width = max(8, *(len(line[0]) for line in lines))
        table = [
            f"{line[0]:{width}}" + "".join(f"{each:>11}" for each in line[1:])
            for line in (head, *lines)
        ]
        return "\n".join([self.title, *self._said(), *table, *left_out])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown, left_out = self._shown()
        head = "".join(f"<th>{escape(each)}</th>" for each in ("", *self._head()))
        rows = "".join(
            f"<tr><th{_CELL}>{escape(self.names[i])}</th>"
            + "".join(f"<td>{each}</td>" for each in self._cells(i))
            + "</tr>"
            for i in shown
        )
        said = "<br>".join(map(escape, (self.title, *self._said())))
        after = "".join(f"<p>{escape(each)}</p>" for each in left_out)
        caption = f'<caption style="caption-side:top;text-align:left">{said}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{after}"

    def _shown(self) -> tuple[list[int], list[str]]:
        """The weights of a table in their order, and a line on those that it leaves out."""
        if len(self) <= _MOST_SHOWN:
            return list(range(len(self))), []
        shown = sorted(self.strongest[:_MOST_SHOWN].tolist())
        return shown, [f"… and {len(self) - _MOST_SHOWN:,} more, which are fewer sds from zero"]

    def _said(self) -> list[str]:
        return [f"{name}: {value}" for name, value in self.facts.items()]

    def _head(self) -> tuple[str, ...]:
        return "mean", "sd", f"{100 * self.level:g} % from", "to"

    def _cells(self, i: int) -> list[str]:
        numbers = (self.mean[i], self.sd[i], self.lower[i], self.upper[i])
        return [f"{number:.4g}" for number in numbers]


def summarise(
    title: str,
    belief: Any,
    names: Iterable[Any] | None = None,
    *,
    level: float = LEVEL,
    facts: Mapping[str, Any] | None = None,
) -> Summary:
    """The summary of a belief; without names weights are x0, x1 and so on.

    Of a belief over very many weights those are in it that any impression had.

    Examples
    --------
    >>> from fabcost import Gaussian
    >>> summarise("as known before", Gaussian.isotropic(2, variance=4.0)).to_dict()["sd"]
    [2.0, 2.0]
    """
    known = getattr(belief, "known", np.arange(belief.dimension))
    called = tuple(f"x{j}" for j in known) if names is None else tuple(map(str, names))
    return Summary(title, called, belief.mean[known], belief.sd[known], level, facts or {})


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"

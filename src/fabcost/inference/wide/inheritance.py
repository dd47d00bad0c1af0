"""What one wide belief found out, as the prior of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.history import Sites
from fabcost.inference.inheritance.information import Information, marginal
from fabcost.inference.inheritance.inheritance import FIRST
from fabcost.inference.saved import checks as saved
from fabcost.inference.wide.belief import WideGaussian
from fabcost.sparse import Columns

_USED = -2  # the slot of a column that one impression had


class WideInformation(NamedTuple):
    """Precision and shift that weights outside of a core gained, and what the core did.

    Examples
    --------
    >>> belief = WideGaussian(10, variance=4.0)
    >>> belief.mean[7], belief.variance[7], belief.slots[7] = 1.0, 2.0, -3
    >>> told = WideInformation.gained(belief, 4.0)
    >>> told.columns, told.precision, told.shift
    (array([7]), array([0.25]), array([0.5]))
    """

    columns: Columns
    precision: FloatArray
    shift: FloatArray
    slots: npt.NDArray[np.int32]
    places: Columns
    core: Information

    @classmethod
    def gained(cls, belief: WideGaussian, variance: float) -> WideInformation:
        """Since every weight had this variance."""
        known, filled = belief.known, belief.filled
        columns, places = known[belief.slots[known] < 0], belief.members
        now = belief.variance[columns]
        core = Information(np.zeros((0, 0)), Sites.flat(0))
        if filled:
            root = belief.root[:filled, :filled]
            before = Gaussian.isotropic(filled, variance=variance)
            core = Information.gained(before, Gaussian.from_root(belief.mean[places], root))
        gain = np.maximum(1.0 / now - 1.0 / variance, 0.0)
        return cls(columns, gain, belief.mean[columns] / now, belief.slots[columns], places, core)

    def put(self, belief: WideGaussian, variance: float, discount: float) -> None:
        """Let a belief that knows nothing know this, to the power of a discount."""
        if discount == 0.0:
            return
        columns = self.columns
        belief.variance[columns] = 1.0 / (1.0 / variance + discount * self.precision)
        belief.mean[columns] = belief.variance[columns] * discount * self.shift
        belief.slots[columns] = self.slots
        many, kept = self.places.size, min(self.places.size, belief.places.size)
        if not many:
            return
        core = self.core.on(Gaussian.isotropic(many, variance=variance), discount)
        belief.mean[self.places], belief.slots[self.places] = core.mean, _USED
        belief.variance[self.places] = core.sd * core.sd
        if kept:
            belief.root[:kept, :kept] = (
                marginal(core, range(kept)).root if kept < many else core.root
            )
        belief.places[:kept], belief.filled = self.places[:kept], kept
        belief.slots[self.places[:kept]] = np.arange(kept)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays for `restored`."""
        names = ("columns", "precision", "shift", "slots", "places")
        arrays = {f"inherited_{name}": getattr(self, name) for name in names}
        rows, sites = self.core
        of_core = {"core": rows, "core_precision": sites.precision, "core_shift": sites.shift}
        return arrays | {f"inherited_{name}": each for name, each in of_core.items()}

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], weights: int) -> WideInformation:
        """That of `state`; a ValueError if it is none."""
        many, inside = (
            saved.entry(arrays, f"inherited_{name}").size for name in ("shift", "places")
        )
        told = saved.entry(arrays, "inherited_core_shift").size

        def read(name: str, *shape: int, kind: str = "f") -> npt.NDArray[Any]:
            return saved.numbers(arrays, f"inherited_{name}", *shape, kind=kind)

        columns, places = read("columns", many, kind="i"), read("places", inside, kind="i")
        both = np.unique(np.concatenate([columns, places]))
        if both.size != many + inside or (both.size and not 0 <= both[0] <= both[-1] < weights):
            raise ValueError(f"inherited columns must differ and lie below {weights}")
        precision, core_precision = read("precision", many), read("core_precision", told)
        for wrong in (*precision[precision < 0.0], *core_precision[core_precision < 0.0]):
            raise ValueError(f"an inherited precision is {wrong} but must not be negative")
        sites = Sites(core_precision, read("core_shift", told))
        core = Information(read("core", told, inside), sites)
        slots = np.minimum(read("slots", many, kind="i"), _USED).astype(np.int32)
        return cls(columns, precision, read("shift", many), slots, places, core)


@dataclass(frozen=True, eq=False)
class WideInheritance:
    """What another found out, how much of it is believed, and when outcomes are asked next.

    As in `fabcost.inference.inheritance.inheritance.Inheritance`: the discount is given and stays,
    or is the one under which the outcomes so far were most probable, each predicted before it was
    learnt, anew until there are 400 of them.

    Examples
    --------
    >>> WideInheritance.of(WideGaussian(8), 1.0, 0.5).look is None
    True
    """

    told: WideInformation
    discount: float = FIRST
    look: int | None = 1

    @classmethod
    def of(cls, belief: WideGaussian, variance: float, discount: float | None) -> WideInheritance:
        """From a belief that began with this variance."""
        told = WideInformation.gained(belief, variance)
        if discount is None:
            return cls(told)
        if not 0.0 < discount <= 1.0:
            raise ValueError(f"discount is {discount} but must be above 0 and at most 1, or None")
        return cls(told, float(discount), None)

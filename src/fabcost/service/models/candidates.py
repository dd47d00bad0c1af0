"""What a click on each candidate is worth, and what showing it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.service.models.catalogue import Catalogue
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import LARGEST_AMOUNT, DecisionRequest, Record, Scalar
from fabcost.wire.settings import ModelSettings

_Given = Mapping[str, float] | None


class CandidateAmounts(NamedTuple):
    """One value and one cost for each candidate, in their order.

    Examples
    --------
    >>> CandidateAmounts(np.array([2.0, 1.0]), np.array([0.5, 0.0])).at(0)
    (2.0, 0.5)
    """

    values: FloatArray
    costs: FloatArray

    def at(self, place: int) -> tuple[float, float]:
        """Those of one candidate."""
        return self.values.item(place), self.costs.item(place)

    @property
    def plain(self) -> bool:
        """Whether they change nothing: every click counts one, and nothing costs."""
        return bool((self.values == 1.0).all() and not self.costs.any())


def amounts_of(
    request: DecisionRequest, catalogue: Catalogue, settings: ModelSettings
) -> CandidateAmounts | None:
    """Those of the candidates that a request means; None if they are as without any.

    A request's own numbers come before the items' features; an item that has neither has the
    value 1 and the cost 0.
    """
    try:
        found = _by_features(request, catalogue, settings)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
    if request.values or request.costs:
        names = {name: place for place, name in enumerate(_names(request, catalogue))}
        values = _replaced(found.values, names, request.values, "values")
        found = CandidateAmounts(values, _replaced(found.costs, names, request.costs, "costs"))
    return None if found.plain else found


def check_amounts(items: Mapping[str, Record], settings: ModelSettings) -> None:
    """A ValueError that names an item whose value or cost is no number that can be one."""
    _read(items.items(), settings)


def _by_features(
    request: DecisionRequest, catalogue: Catalogue, settings: ModelSettings
) -> CandidateAmounts:
    if request.candidates is not None:
        return _read(request.candidates.items(), settings)
    known = catalogue.items
    if request.items is not None:
        return _read(((name, known.get(name, {})) for name in request.items), settings)
    selected, memory = catalogue.selected(request.filter), catalogue.memory
    key = (catalogue.owner, selected.number, settings.value_feature, settings.cost_feature)
    found: CandidateAmounts | None = memory.get(key)
    if found is None:
        found = _read(((str(name), known[str(name)]) for name in selected.items.names), settings)
        memory.put(key, found, found.values.nbytes + found.costs.nbytes)
    return found


def _names(request: DecisionRequest, catalogue: Catalogue) -> Iterable[Any]:
    if request.candidates is not None:
        return request.candidates
    return request.items or catalogue.selected(request.filter).items.names


def _read(items: Iterable[tuple[str, Record]], settings: ModelSettings) -> CandidateAmounts:
    value, cost = settings.value_feature, settings.cost_feature
    rows = [
        (
            _number(item, value, features, 1.0, least=0.0),
            _number(item, cost, features, 0.0, least=-LARGEST_AMOUNT),
        )
        for item, features in items
    ]
    values, costs = np.array(rows, dtype=np.float64).reshape(-1, 2).T.copy()
    return CandidateAmounts(values, costs)


def _number(
    item: str, name: str | None, features: Record, otherwise: float, *, least: float
) -> float:
    given: Scalar = None if name is None else features.get(name)
    if given is None:
        return otherwise
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not least <= float(given) <= LARGEST_AMOUNT:
        raise ValueError(
            f"item {item!r} has {name!r} = {given!r}, which the model takes for its value or cost "
            f"but must be a number from {least:g} to {LARGEST_AMOUNT:g}"
        )
    return float(given)


def _replaced(
    amounts: FloatArray, names: Mapping[str, int], given: _Given, what: str
) -> FloatArray:
    if not given:
        return amounts
    found = amounts.copy()
    for name, amount in given.items():
        if name not in names:
            raise InvalidRequestError(f"{what} has {name!r}, which is not among the candidates")
        found[names[name]] = amount
    return found

"""Models that nobody has made yet: to clients of the contract they are there, and new."""

from __future__ import annotations

import contextlib
from typing import Final

from fabcost.service.personalizer.errors import ContractError
from fabcost.service.service import Service
from fabcost.wire.checks import check_model_name
from fabcost.wire.errors import AlreadyThereError, InvalidRequestError, UnknownModelError
from fabcost.wire.messages import ModelAnswer
from fabcost.wire.settings import ModelSettings

#: What such a model is like: its schema is open and it tells its propensities.
NEW_MODEL: Final = ModelSettings(propensities="fast")


class OpenModels:
    """The models of a service, and those that are made when there is something to keep for them.

    Parameters
    ----------
    service
        The service.
    create
        Whether any name means a model; otherwise only those do that were made.
    """

    def __init__(self, service: Service, *, create: bool) -> None:
        self._service = service
        self._create = create

    def find(self, name: str) -> ModelAnswer | None:
        """The model, None if it is still to be made, or an error if it never will be."""
        with contextlib.suppress(UnknownModelError):
            return self._service.model(name)
        self.check(name)
        return None

    def check(self, name: str) -> None:
        """An error if no such model can be made."""
        if not self._create:
            raise UnknownModelError(name)
        try:
            check_model_name(name)
        except InvalidRequestError as error:
            raise ContractError(
                "ResourceNotFound",
                f"The model is {name!r} but its name must be of at most 64 letters, digits, '.', "
                "'_' and '-', a letter or digit first",
            ) from error

    def check_allowed(self, name: str, *, may_make: bool) -> None:
        """An error if who asks may not make the model, or nobody may."""
        self.check(name)
        if not may_make:
            raise ContractError(
                "ResourceNotFound",
                f"there is no model {name!r}, and this key may not make it: make it first, or use "
                "a key with the role admin or a key of that model",
            )

    async def make(self, name: str) -> None:
        """Make the model, unless another request was first."""
        self.check(name)
        with contextlib.suppress(AlreadyThereError):
            await self._service.create_model(name, NEW_MODEL)

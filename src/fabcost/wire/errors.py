"""What can go wrong, in words for whoever asked, by a request or by a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ServiceError(Exception):
    """A request that cannot be served; ``code`` is for programs, the message for people.

    Examples
    --------
    >>> UnknownModelError("news").code, str(UnknownModelError("news"))
    ('unknown_model', "there is no model 'news'")
    """

    code = "bad_request"


class InvalidRequestError(ServiceError):
    """What was given is not what was expected."""

    code = "invalid_request"


class UnknownModelError(ServiceError):
    """No model has that name."""

    code = "unknown_model"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no model {name!r}")


class UnknownItemError(ServiceError):
    """No item of the catalogue has that id."""

    code = "unknown_item"

    def __init__(self, item: str) -> None:
        super().__init__(f"there is no item {item!r} in the catalogue")


class UnknownDecisionIdError(ServiceError):
    """No decision has that id."""

    code = "unknown_decision"

    def __init__(self, decision: str) -> None:
        super().__init__(f"there is no decision {decision!r}")


class AlreadyThereError(ServiceError):
    """A model of that name exists."""

    code = "already_there"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a model {name!r} already")


class BusyError(ServiceError):
    """Too much of this is under way; later it can be asked for again."""

    code = "busy"


class DatabaseError(ServiceError):
    """The database does not do what is needed; ``detail`` says more, to operators only.

    Examples
    --------
    >>> error = DatabaseError("the disk is full", "/var/bandit.db: database or disk is full")
    >>> str(error), error.detail
    ('the disk is full', '/var/bandit.db: database or disk is full')
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class StoreAwayError(DatabaseError):
    """The database cannot be written now; nothing was changed, and the request may be repeated."""

    code = "store_away"


class StaleError(DatabaseError):
    """What is known of the database is too old to decide by."""

    code = "stale"


class TakenOverError(ServiceError):
    """Another server has taken over the database; this one must stop writing."""

    code = "taken_over"


class DatabaseUnusableError(DatabaseError):
    """The database cannot be used at all: not ours, of a newer version, or not writable."""

    code = "database_unusable"


class UnreadableModelError(ServiceError):
    """A model is in the database but cannot be read; the others are served."""

    code = "model_unreadable"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"model {name!r} cannot be read from the database; "
            "the log of the server's start says why"
        )


class LearningFailedError(ServiceError):
    """A model has stopped learning, by a fault of ours; its log goes on.

    Examples
    --------
    >>> print(LearningFailedError("news", MemoryError("no room")))
    model 'news' has stopped learning (MemoryError); a restart learns from its log
    """

    code = "learning_failed"

    def __init__(self, name: str, cause: Exception) -> None:
        super().__init__(
            f"model {name!r} has stopped learning ({type(cause).__name__}); "
            "a restart learns from its log"
        )


@contextmanager
def explained() -> Iterator[None]:
    """Tell errors of whoever typed a command without a traceback."""
    import typer  # noqa: PLC0415 - only commands need it

    try:
        yield
    except (ValueError, OSError, ServiceError) as error:
        typer.echo(f"Error: {getattr(error, 'detail', '') or error}", err=True)
        raise typer.Exit(2) from error

"""What can go wrong, in words for whoever asked."""

from __future__ import annotations


class ServiceError(Exception):
    """A request that cannot be served; ``code`` is for programs, the message for people.

    Examples
    --------
    >>> UnknownModelError("news").code, str(UnknownModelError("news"))
    ('unknown_model', "there is no model 'news'")
    """

    code = "bad_request"


class InvalidRequestError(ServiceError):
    """What was given is not what was expected.

    Examples
    --------
    >>> InvalidRequestError("top_k is 0 but must be at least 1").code
    'invalid_request'
    """

    code = "invalid_request"


class UnknownModelError(ServiceError):
    """No model has that name.

    Examples
    --------
    >>> UnknownModelError("news")
    UnknownModelError("there is no model 'news'")
    """

    code = "unknown_model"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no model {name!r}")


class UnknownItemError(ServiceError):
    """No item of the catalogue has that id.

    Examples
    --------
    >>> UnknownItemError("ad-1")
    UnknownItemError("there is no item 'ad-1' in the catalogue")
    """

    code = "unknown_item"

    def __init__(self, item: str) -> None:
        super().__init__(f"there is no item {item!r} in the catalogue")


class UnknownDecisionError(ServiceError):
    """No decision has that id.

    Examples
    --------
    >>> UnknownDecisionError("d-1")
    UnknownDecisionError("there is no decision 'd-1'")
    """

    code = "unknown_decision"

    def __init__(self, decision: str) -> None:
        super().__init__(f"there is no decision {decision!r}")


class AlreadyThereError(ServiceError):
    """A model of that name exists.

    Examples
    --------
    >>> AlreadyThereError("news")
    AlreadyThereError("there is a model 'news' already")
    """

    code = "already_there"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a model {name!r} already")


class BusyError(ServiceError):
    """Too much of this is under way; later it can be asked for again.

    Examples
    --------
    >>> BusyError("8 exports are under way").code
    'busy'
    """

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
    """The database cannot be written now; nothing was changed, and the request may be repeated.

    Examples
    --------
    >>> StoreAwayError("the disk is full").code
    'store_away'
    """

    code = "store_away"


class TakenOverError(ServiceError):
    """Another server has taken over the database; this one must stop writing.

    Examples
    --------
    >>> TakenOverError("epoch 4 has begun").code
    'taken_over'
    """

    code = "taken_over"


class DatabaseUnusableError(DatabaseError):
    """The database cannot be used at all: not ours, of a newer version, or not writable.

    Examples
    --------
    >>> DatabaseUnusableError("the file is not a database").code
    'database_unusable'
    """

    code = "database_unusable"


class UnreadableModelError(ServiceError):
    """A model is in the database but cannot be read; the others are served.

    Examples
    --------
    >>> print(UnreadableModelError("news"))
    model 'news' cannot be read from the database; the log of the server's start says why
    """

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

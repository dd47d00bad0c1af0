"""What a call can end with instead of its answer."""

from __future__ import annotations

from fabcost.wire.errors import ServiceError


class ClientError(ServiceError):
    """A call that failed; ``code`` is for programs, the message for people.

    Parameters
    ----------
    code
        The server's, such as "unknown_model"; or "unreachable" if no connection was made,
        "interrupted" if one broke or no answer came in time, "not_ready" if the server did not
        become ready, "unexpected_answer" if something else than the service seems to have answered.
    message
        What went wrong.
    status
        Of the HTTP answer, None if there was none.
    request_id
        Under which the server's log has the request.

    Examples
    --------
    >>> error = ClientError("unknown_model", "there is no model 'news'", 404, "r-17")
    >>> error.code, str(error)
    ('unknown_model', "there is no model 'news' (404 unknown_model, request r-17)")
    """

    def __init__(
        self, code: str, message: str, status: int | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(code, message, status, request_id)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id

    def __str__(self) -> str:
        status = "" if self.status is None else f"{self.status} "
        request = "" if self.request_id is None else f", request {self.request_id}"
        return f"{self.message} ({status}{self.code}{request})"

"""What is done for one call, whatever goes wrong: attempts, pauses, and the error in the end.

And how what is given becomes paths and bodies, and bodies become answers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fabcost.wire.errors import ServiceError, in_words
from fabcost.wire.messages import plain

if TYPE_CHECKING:
    from fabcost.client.clients import AsyncClient, Client

T = TypeVar("T")
P = ParamSpec("P")

JSON = "application/json"
#: Answers after which another attempt may succeed.
_PASSING = frozenset({429, 502, 503, 504})
#: Of those, what is sent before anything is done; with 503 a server may also have run out of time.
_REFUSED = frozenset({429})


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


@dataclass(frozen=True)
class ClientCall(Generic[T]):
    """A request, the reader of its answer, and what may be done if no answer comes.

    Parameters
    ----------
    repeatable
        Whether doing it twice is the same as doing it once.
    lookup
        What to ask when a repeated creation finds that the name is taken, maybe by itself.
    done
        The status that says the same if an earlier attempt succeeded: 404 of a deletion.
    seconds
        How long an attempt waits at least: what takes a server long is not given up before it.
    streamed
        Whether the body is left in the answer, to be read piece by piece.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    query: Mapping[str, str | float] = field(default_factory=dict)
    content: bytes | None = None
    media: str = JSON
    repeatable: bool = True
    lookup: ClientCall[T] | None = None
    done: int | None = None
    seconds: float = 0.0
    streamed: bool = False


@dataclass(frozen=True)
class Retries:
    """How often a call is tried again; pauses grow twofold, with jitter.

    Parameters
    ----------
    attempts
        At most so many, the first included.
    first, longest
        Seconds of the first pause, and of any.
    deadline
        Seconds for all attempts and pauses together; each attempt to move a whole model, log or
        catalogue may take as long as a server does, beyond that.

    Examples
    --------
    >>> Retries(first=0.1, longest=1.0).pause(3, 0.0, np.random.default_rng(7))
    0.325...
    >>> Retries().pause(1, 2.5, np.random.default_rng(7))
    2.5
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 5.0
    deadline: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts} but must be at least 1")
        for name in ("first", "longest", "deadline"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)} but must be above 0")

    def pause(self, attempt: int, asked: float, rng: np.random.Generator) -> float:
        """Seconds to wait after attempt 1, 2, …, and not less than the server ``asked`` for.

        Between half and all of the backoff: clients that failed together do not return together.
        """
        backoff = min(self.longest, self.first * 2.0 ** min(attempt - 1, 60))
        return max(asked, float(rng.uniform(0.5, 1.0)) * backoff)


#: One attempt, no second.
NEVER = Retries(attempts=1)


def patience(seconds: float) -> Retries:
    """Short pauses until ``seconds`` have gone by, as one waits for a server to start."""
    return Retries(attempts=1_000_000, first=0.05, longest=0.5, deadline=seconds)


class Lost(NamedTuple):
    """No answer; ``sent`` unless it is certain that the server has not seen the request."""

    sent: bool
    why: str


class Line(Protocol):
    """What an exchange is made over; it may block, or be awaited."""

    async def attempt(self, call: ClientCall[Any], timeout: float) -> httpx.Response | Lost:
        """Send the request of a call once."""
        ...

    async def pause(self, seconds: float) -> None:
        """Wait."""
        ...


async def exchange(
    call: ClientCall[T],
    retries: Retries,
    *,
    line: Line,
    timeout: float,
    clock: Callable[[], float],
    rng: np.random.Generator,
) -> T:
    """The answer, or a `ClientError`.

    The deadline of ``retries`` does not count what the call itself may take.
    """
    timeout = max(timeout, call.seconds)
    end = clock() + retries.deadline + retries.attempts * call.seconds
    attempt, maybe_done = 0, False
    while True:
        attempt += 1
        event = await line.attempt(call, max(0.001, min(timeout, end - clock())))
        if isinstance(event, httpx.Response):
            status = event.status_code
            if status < 300 or (maybe_done and status == call.done):
                return call.read(event)
            if status == 409 and call.lookup is not None and maybe_done:
                call, attempt = call.lookup, 0
                continue
        pause = retries.pause(attempt, _asked_pause(event), rng)
        out_of_time = attempt >= retries.attempts or clock() + pause >= end
        if out_of_time or not _may_repeat(call, event):
            raise _error(event)
        maybe_done = maybe_done or _may_have_worked(event)
        await line.pause(pause)


def _may_repeat(call: ClientCall[Any], event: httpx.Response | Lost) -> bool:
    harmless = call.repeatable or call.lookup is not None
    if isinstance(event, Lost):
        return harmless or not event.sent
    return event.status_code in (_PASSING if harmless else _REFUSED)


def _may_have_worked(event: httpx.Response | Lost) -> bool:
    return event.sent if isinstance(event, Lost) else event.status_code not in _REFUSED


def _asked_pause(event: httpx.Response | Lost) -> float:
    """Seconds of Retry-After; a date there, which this service never sends, asks for nothing."""
    if isinstance(event, Lost):
        return 0.0
    asked = event.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else 0.0


class _Problem(msgspec.Struct):
    code: str
    message: str
    request_id: str | None = None


class _Problems(msgspec.Struct):
    """An error of the API, or the reason why a server is not ready."""

    error: _Problem | None = None
    reason: str | None = None


_problems = msgspec.json.Decoder(_Problems)


def _error(event: httpx.Response | Lost) -> ClientError:
    """What went wrong, also if a proxy answered and not the service."""
    if isinstance(event, Lost):
        return ClientError("interrupted" if event.sent else "unreachable", event.why)
    problem = _problem_in(event.content)
    if problem is None:
        why = f"the answer has status {event.status_code} and no error of the service"
        problem = _Problem("unexpected_answer", why)
    named = problem.request_id or event.headers.get("x-request-id")
    return ClientError(problem.code, problem.message, event.status_code, named)


def _problem_in(content: bytes) -> _Problem | None:
    try:
        found = _problems.decode(content)
    except ValueError:
        return None
    if found.error is None and found.reason is not None:
        return _Problem("not_ready", found.reason)
    return found.error


class Method(Generic[P, T]):
    """A method of both clients: `AsyncClient` has the coroutine, `Client` what it returns."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        @functools.wraps(ask)
        def method(client: Any, *given: P.args, **named: P.kwargs) -> Any:
            return client._outcome(ask(client, *given, **named))

        self._method = method

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    def __get__(self, client: Any, owner: type) -> Callable[..., Any]:
        return self._method if client is None else MethodType(self._method, client)


def path(*parts: str) -> str:
    """The parts as one path; what a part holds never becomes a separator or a way up.

    Examples
    --------
    >>> path("v1", "models", "m", "items", "a/b c"), path("v1", "..")
    ('/v1/models/m/items/a%2Fb%20c', '/v1/%2E%2E')
    """
    for part in parts:
        if not part:
            raise ValueError("an id or name is '' but must have at least one character")
    quoted = [quote(part, safe="") for part in parts]
    return "/" + "/".join(p.replace(".", "%2E") if p in (".", "..") else p for p in quoted)


def encoded(value: Any) -> bytes:
    """As JSON; NumPy's numbers are numbers."""
    return _encoder.encode(value)


def _encodable(value: Any) -> Any:
    found = plain(value)
    if found is value:
        raise TypeError(f"{value!r} is a {type(value).__name__} but must be text, a number or None")
    return found


_encoder = msgspec.json.Encoder(enc_hook=_encodable)


def answer(kind: type[T], field: str | None = None) -> Callable[[httpx.Response], T]:
    """Reads the body as a value of that type, or as an object with one in a field."""
    decoder = _decoder(kind, field)  # type: ignore[arg-type] # every type has a hash

    def read(response: httpx.Response) -> T:
        try:
            found = decoder.decode(response.content)
        except ValueError as error:
            why = f"the answer is not what this client expects: {in_words(error, what='it')}"
            named = response.headers.get("x-request-id")
            raise ClientError("unexpected_answer", why, response.status_code, named) from error
        return cast("T", found if field is None else getattr(found, field))

    return read


@functools.cache
def _decoder(kind: type[Any], field: str | None) -> msgspec.json.Decoder[Any]:
    shape = kind if field is None else msgspec.defstruct("Answer", [(field, kind)])
    return msgspec.json.Decoder(shape)


def nothing(_: httpx.Response) -> None:
    """The status says it all."""

"""Settings of a server: from flags, else the environment, else a file, else defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from fabcost.wire.errors import in_words

PREFIX = "FABCOST_"
#: Names of the environment that are not settings of a server.
_OTHERS = frozenset({"CONFIG", "DATA", "KEY", "URL"})
_OF_TESTS = "REQUIRE_"
_USER = re.compile(r"(^[\w+.-]+://[^:/]*:|^[^:/\\]{2,}:(?!//)).*@", re.DOTALL)
_PARAMETER = re.compile(r"([?&][^=&]*password=)[^&]*", re.IGNORECASE)

_SHOWN = (
    "application_name|channel_binding|client_encoding|connect_timeout|dbname|host|hostaddr|options|"
    "passfile|port|service|sslcert|sslkey|sslmode|sslrootcert|target_session_attrs|user"
)
#: How the address of a database begins that is written as libpq's keywords and values.
KEYWORDS = re.compile(
    rf"(?![\w+.-]+://)(?:\s*(?:{_SHOWN})\s*=|\s*(?:\w+\s*=.*\s)?(?:ssl)?password\s*=)", re.DOTALL
)
#: As browsers write where a page is from, or any.
_ORIGIN = re.compile(r"\*|https?://[^/\s?#@*;,'\"]+")
_LISTS = ("cors_origins", "image_origins")
_PAIR = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])*)", re.DOTALL)

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0.0, le=86_400.0)]
#: Unless a server is told otherwise.
CACHE_BYTES = 134_217_728


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about a server that can be set.

    ``auth`` "auto" asks for keys unless the address is a loopback and there never was a key.
    ``cors_origins`` are those of other sites' pages that may ask, ``image_origins`` of pictures of
    items on the dashboard; in texts with commas between.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8000
    database: str = "fabcost.db"
    auth: Literal["auto", "on", "off"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    body_bytes: Count = 1_048_576
    import_bytes: Count = 67_108_864
    import_lines: Count = 250_000
    decoded_bytes: Count = 268_435_456
    candidates: Count = 1_000
    features: Count = 100
    text_length: Count = 1_000
    bulk_feedback: Count = 1_000
    requests_in_flight: Count = 1_000
    request_seconds: Seconds = 10.0
    keep_alive_seconds: Count = 5
    shutdown_seconds: Count = 30
    backlog: Count = 100_000
    cache_bytes: Annotated[int, Meta(ge=0)] = CACHE_BYTES
    park_seconds: Seconds = 120.0
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    follow: bool = False
    most_stale_seconds: Seconds = 10.0
    keep_days: Annotated[float, Meta(ge=0.0)] = 0.0
    create_personalizer_models: bool = True
    cors_origins: tuple[str, ...] = ()
    image_origins: tuple[str, ...] = ()


class Loaded(NamedTuple):
    """Settings, and where each was set."""

    settings: Settings
    sources: dict[str, str]


def load(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None
) -> Loaded:
    """Settings in force; a ValueError names what is unknown or wrong, and where it was set.

    Examples
    --------
    >>> loaded = load({"port": 0}, {"FABCOST_PORT": "80", "FABCOST_LOG_LEVEL": "debug"})
    >>> loaded.settings.port, loaded.settings.log_level, loaded.sources["log_level"]
    (0, 'debug', 'environment')
    >>> load({}, {"FABCOST_PROT": "80"})
    Traceback (most recent call last):
    ValueError: environment: FABCOST_PROT is not a setting
    """
    loaded, wrong = look(flags, environment, file)
    if wrong:
        raise ValueError(wrong[0])
    return loaded


def look(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None
) -> tuple[Loaded, list[str]]:
    """Settings without those that are unknown or wrong, and what is to be said of these.

    Examples
    --------
    >>> loaded, wrong = look({"port": 80}, {"FABCOST_PORT": "high", "FABCOST_AUTH": "on"})
    >>> loaded.settings.port, loaded.settings.auth, wrong
    (80, 'on', ["environment: 'port' must be a whole number but is text"])
    """
    values: dict[str, Any] = {}
    sources = dict.fromkeys(Settings.__struct_fields__, "default")
    wrong: list[str] = []
    try:
        layers = {"file": _from_file(file)}
    except ValueError as error:
        layers = {}
        wrong.append(str(error))
    layers |= {"environment": _from_environment(environment), "flag": dict(flags)}
    for source, name, given in ((s, *each) for s in layers for each in layers[s].items()):
        try:
            values[name] = _checked(source, name, given)
            sources[name] = source
        except ValueError as error:
            wrong.append(str(error))
    return Loaded(Settings(**values), sources), wrong


def show(loaded: Loaded) -> str:
    """Settings as TOML, with the source of each; a password is not shown."""
    values = msgspec.structs.asdict(loaded.settings)
    values["database"] = without_password(loaded.settings.database)
    lines = (
        f"{name} = {msgspec.json.encode(value).decode()}  # {loaded.sources[name]}"
        for name, value in values.items()
    )
    return "\n".join(lines)


def without_password(database: str) -> str:
    """The address of a database as it may be shown.

    Examples
    --------
    >>> without_password("postgresql://shop:s3cret@db/fabcost")
    'postgresql://shop:***@db/fabcost'
    >>> without_password("postgresql://shop@db/fabcost?sslpassword=s3cret&sslmode=require")
    'postgresql://shop@db/fabcost?sslpassword=***&sslmode=require'
    >>> without_password("host=db user=shop password=s3cret")
    'host=db user=shop password=***'
    >>> without_password("sqlite:///fabcost.db")
    'sqlite:///fabcost.db'
    """
    if KEYWORDS.match(database) is not None:
        shown = re.compile(_SHOWN).fullmatch
        pairs = _PAIR.findall(database)
        return " ".join(f"{name}={value if shown(name) else '***'}" for name, value in pairs)
    return _PARAMETER.sub(r"\1***", _USER.sub(r"\1***@", database))


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: {error}") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = (name for name in environment if name.startswith(PREFIX))
    found = {name: name.removeprefix(PREFIX) for name in names}
    return {
        short.lower(): environment[name]
        for name, short in found.items()
        if short not in _OTHERS and not short.startswith(_OF_TESTS)
    }


def _checked(source: str, name: str, given: Any) -> Any:
    """A value in its type; a text is read as a number where one is due."""
    if name not in Settings.__struct_fields__:
        spelled = PREFIX + name.upper() if source == "environment" else name
        raise ValueError(f"{source}: {spelled} is not a setting")
    if name in _LISTS and isinstance(given, str):
        given = [each.strip() for each in given.split(",") if each.strip()]
    try:
        read = getattr(msgspec.convert({name: given}, Settings, strict=False), name)
    except msgspec.ValidationError as error:
        raise ValueError(f"{source}: {in_words(error)}") from error
    for wrong in (each for each in read if not _ORIGIN.fullmatch(each)) if name in _LISTS else ():
        expected = "* or scheme, host and port, as https://shop.example"
        raise ValueError(f"{source}: {name} has {wrong!r} but must have {expected}")
    return read


def making_a_key(settings: Settings) -> str:
    """What to type, with the database that is served.

    Examples
    --------
    >>> making_a_key(Settings(database="shop.db"))
    'fabcost keys add NAME --role admin --database shop.db'
    """
    database = without_password(settings.database)
    return f"fabcost keys add NAME --role admin --database {database}"

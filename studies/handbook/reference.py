"""Pages of the reference that are made from declarations: HTTP, commands, settings."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import typer

from fabcost.cli import application
from fabcost.client import ModelSettings
from fabcost.service.http import routes
from fabcost.service.http.openapi import document
from fabcost.service.settings import PREFIX, Settings

Json = Mapping[str, Any]

_HTTP = """# HTTP

Made from the OpenAPI document that a server has at `/openapi.json`.
[The service](../how-to/service.md) explains it, with commands that run and the table of errors;
[For clients of Azure AI Personalizer](../how-to/personalizer.md) has the routes that are not
here."""
_COMMANDS = """# Commands

Made from what `fabcost COMMAND --help` says."""
_SETTINGS = """# Settings

Made from the declarations. [Operations](../how-to/operations.md#settings) says what the settings of
a server mean and where they are set; [The service](../how-to/service.md#a-model) has those of a
model."""


def http() -> str:
    """Every operation, then every body."""
    made = document(routes.operations(Settings()))
    operations = [
        _operation(method, path, each)
        for path, methods in made["paths"].items()
        for method, each in methods.items()
    ]
    bodies = [_body(name, each) for name, each in sorted(made["components"]["schemas"].items())]
    return "\n\n".join([_HTTP, "## Operations", *operations, "## Bodies", *bodies]) + "\n"


def commands() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(application)
    made = _commands(root, typer.Context(root, info_name="fabcost"))
    return "\n\n".join([_COMMANDS, *made]) + "\n"


def settings() -> str:
    """Settings of a server, then of a model."""
    of_a_server = [
        (f"`{name}`", f"`{PREFIX}{name.upper()}`", _kind(each), _default(each))
        for name, each in _properties(Settings).items()
    ]
    of_a_model = [
        (f"`{name}`", _kind(each), _default(each))
        for name, each in _properties(ModelSettings).items()
    ]
    parts = [
        _SETTINGS,
        "## Of a server",
        _table(("setting", "environment", "", "default"), of_a_server),
        "## Of a model",
        _table(("setting", "", "default"), of_a_model),
    ]
    return "\n\n".join(parts) + "\n"


def _operation(method: str, path: str, operation: Json) -> str:
    rows = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"]))
        for each in operation["parameters"]
        if each["in"] == "query"
    ]
    body = _content(operation.get("requestBody", {}))
    done = {status: each for status, each in operation["responses"].items() if status < "300"}
    answers = [f"**{status}** {_content(each)}".rstrip() for status, each in done.items()]
    errors = [status for status in operation["responses"] if status >= "300"]
    lines = [
        f"- Body: {body}" if body else "",
        f"- Answer: {', '.join(answers)}",
        f"- Errors: {', '.join(errors)}",
    ]
    parts = [
        f"### `{method.upper()} {path}`",
        operation["summary"],
        operation["description"],
        _table(("parameter", "in", ""), rows) if rows else "",
        "\n".join(line for line in lines if line),
    ]
    return "\n\n".join(part for part in parts if part)


def _body(name: str, schema: Json) -> str:
    needed = schema.get("required", ())
    rows = [
        (f"`{field}`", _kind(each), "" if field in needed else _default(each))
        for field, each in schema.get("properties", {}).items()
    ]
    described = inspect.cleandoc(schema.get("description", "")).partition("\n\nExamples\n")[0]
    fields = _table(("field", "", "if left out"), rows) if rows else ""
    return "\n\n".join(part for part in (f"### {name}", described, fields) if part)


def _content(message: Json) -> str:
    kinds = message.get("content", {})
    if set(kinds) == {"application/json"}:
        return _kind(kinds["application/json"]["schema"])
    return " or ".join(f"`{each}`" for each in kinds)


def _commands(command: Any, context: typer.Context) -> Iterator[str]:
    """A command, and those below it."""
    if not hasattr(command, "commands"):
        yield _command(command, context)
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(each, typer.Context(each, info_name=name, parent=context))


def _command(command: Any, context: typer.Context) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([context.command_path, "[OPTIONS]", *map(_shown, arguments)])
    parts = [
        f"## `{context.command_path}`",
        inspect.cleandoc(command.help or ""),
        f"```text\n{usage}\n```",
        _table(("", "", "default"), [_option(each, context) for each in command.params]),
    ]
    return "\n\n".join(parts if command.params else parts[:-1])


def _option(option: Any, context: typer.Context) -> tuple[str, str, str]:
    given = option.get_default(context)
    values = given if isinstance(given, list | tuple) else [given]
    default = ", ".join(f"`{each}`" for each in values if each is not None and each is not False)
    environment = f" Or `{option.envvar}`." if option.envvar else ""
    return _shown(option), f"{option.help or ''}{environment}", default


def _shown(option: Any) -> str:
    if option.param_type_name == "argument":
        return str(option.name).upper()
    return ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])


def _properties(struct: type) -> dict[str, Any]:
    (_,), components = msgspec.json.schema_components([struct])
    properties: dict[str, Any] = components[struct.__name__]["properties"]
    return properties


def _kind(schema: Json) -> str:
    """A schema in words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}](http.md#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"object of {_kind(values)}" if isinstance(values, dict) else "object"
    return str(schema.get("type", "anything")) + _bounds(schema)


def _bounds(schema: Json) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
        "minLength": "length at least",
        "maxLength": "length at most",
    }
    told = [f"{word} {schema[name]:,}" for name, word in words.items() if name in schema]
    return f", {' and '.join(told)}" if told else ""


def _default(schema: Json) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

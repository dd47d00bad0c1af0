"""Where settings come from, and that their secrets stay."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost.service.settings import Settings, load, show, without_password
from fabcost.service.telemetry import Metrics


def file_of(folder: Path, text: str) -> Path:
    path = folder / "fabcost.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_flags_come_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, "port = 1\nfeatures = 1\ncandidates = 1\n")
    environment = {"FABCOST_PORT": "2", "FABCOST_FEATURES": "2", "HOME": "/", "FABCOST_DATA": "x"}
    loaded = load({"port": 3}, environment, file)
    found = loaded.settings
    assert (found.port, found.features, found.candidates) == (3, 2, 1)
    sources = [loaded.sources[name] for name in ("port", "features", "candidates", "host")]
    assert sources == ["flag", "environment", "file", "default"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "file: prot is not a setting"),
        ('port = "many"', "file: 'port' must be a whole number but is text"),
        ("port = -1", "file: 'port' must be a whole number >= 0"),
        ("port = ", "fabcost.toml"),
        ("[limits]\nport = 1", "file: limits is not a setting"),
        ('auth = "maybe"', "file: 'auth' is 'maybe', which is none of"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load({}, {}, file_of(tmp_path, text))


def test_names_for_others_are_left_alone() -> None:
    load({}, {"FABCOST_DATA": "x", "FABCOST_REQUIRE_POSTGRES": "1", "FABCOST_CONFIG": "x"})
    with pytest.raises(ValueError, match="FABCOST_DATABSE is not a setting"):
        load({}, {"FABCOST_DATABSE": "x"})


def test_what_is_shown_can_be_loaded(tmp_path: Path) -> None:
    given = load({"auth": "on", "request_seconds": 2.5, "create_personalizer_models": False}, {})
    shown = show(given)
    assert tomllib.loads(shown) == msgspec.json.decode(msgspec.json.encode(given.settings))
    assert load({}, {}, file_of(tmp_path, shown)).settings == given.settings
    assert shown.count("# default") == len(Settings.__struct_fields__) - 3


@given(st.text(st.characters(exclude_characters="@"), min_size=12))
def test_no_password_is_shown(secret: str) -> None:
    for address in (
        f"postgresql://shop:{secret}@db:5432/x?sslmode=require",
        "postgresql://db/x?password=" + secret.replace("&", ""),
    ):
        assert without_password(address).count("***") == 1
        assert secret not in without_password(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("host=db user=me password=hunter2", "host=db user=me password=***"),
        ("password = 'hun ter2' host = db", "password=*** host=db"),
        (r"password='it\'s hunter2' dbname='a b'", "password=*** dbname='a b'"),
        ("host=db password='hunter2", "host=db password=***"),
        ("host=db password=pass hunter2 port=1", "host=db password=*** port=1"),
        ("host=db pasword=hunter2", "host=db pasword=***"),
        ("host=db sslpassword=hunter2 sslmode=require", "host=db sslpassword=*** sslmode=require"),
        ("postgresql://me@corp:hunter2@db/x", "postgresql://me@corp:***@db/x"),
        ("postgresql://me:pass@hunter2@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me:pass/hunter2@db/x", "postgresql://me:***@db/x"),
        ("postgresql+driver://me:hunter2@db/x", "postgresql+driver://me:***@db/x"),
        ("me:hunter2@db/x", "me:***@db/x"),
    ],
)
def test_no_spelling_shows_a_password(address: str, shown: str) -> None:
    assert without_password(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "fabcost.db",
        "sqlite:///a/b.db",
        "postgresql://shop@db/x?sslmode=require",
        "host=db user=shop dbname=x",
        "a=b.db",
        "me@home.db",
    ],
)
def test_addresses_without_a_password_are_shown_whole(address: str) -> None:
    assert without_password(address) == address


def test_every_setting_and_every_metric_of_an_alarm_is_documented() -> None:
    root = Path(__file__).resolve().parents[3]
    guide = (root / "docs" / "how-to" / "operations.md").read_text("utf-8")
    for name in Settings.__struct_fields__:
        assert f"`{name}`" in guide, name
    known = Metrics().render().decode()
    for name in re.findall(r"fabcost_[a-z_]+", guide.partition("## Watching")[2]):
        assert f"# HELP {name} " in known, name

"""Names in the documentation exist, the paper is covered, and public names have examples."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fabcost

DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation"
PAPER_TO_CODE = DOCS / "paper-to-code.md"
MATHEMATICS = DOCS / "mathematics.md"
DOTTED_NAME = re.compile(r"`(fabcost(?:\.\w+)+)`")

NUMBERED_EQUATIONS = 16
ALGORITHMS = {
    1: "algorithm:posterior_sampling",
    2: "alg:EP",
    3: "alg:EP_calculations",
    4: "alg:ADF_calculations",
    5: "alg:FAB-COST",
}
FIGURES = {
    1: "fig:posteriors_1",
    2: "fig:posteriors_2",
    3: "fig:moment_convergence_rates",
    4: "fig:Bandit_performance_1",
}
# In the order of the paper, spelled as there.
LABELLED_EQUATIONS = [
    "eq:expected_reward2",
    "eq:contextual_TS1",
    "eq:log_reg_prob",
    "eq:logistic_function_def",
    "eq:freq_log_reg_lilihood",
    "eq:bayes",
    "eq:VI_optimisation",
    "eq:for_KL2",
    "eq:target",
    "eq:global_approx",
    "eq:tilted",
    "eq:EP_objective",
    "eq:site_update",
    "eq:moment_mapping",
    "eq:condtional_ADF",
    "eq:hybrid_ADF",
    "eq:tilted2",
    "eq:recursive_moment_update1",
    "eq:moment_update1",
    "eq:moderated_output_approximation",
    "eq:alphaB",
]

# The service is used over HTTP: docs/how-to/service.md has the examples, and a test runs them;
# whatever is behind the two clients is run by their tests.
WITHOUT_EXAMPLES = (
    "fabcost.compilation",
    "fabcost.kernels",
    "fabcost.cli",
    "fabcost.client.calls",
    "fabcost.client.commands",
    "fabcost.client.exchange",
    "fabcost.demo",
    "fabcost.offline",
    "fabcost.paper",
    "fabcost.service",
    "fabcost.wire",
    "fabcost.worlds",
)
# Records that only name the fields of a result: the function that returns one has the example.
RECORDS = {
    "fabcost.bandit.bandit.Choice",
    "fabcost.bandit.beta.Counts",
    "fabcost.bandit.environments.Round",
    "fabcost.bandit.pool.shortlist.Answer",
    "fabcost.recommend.ledger.Decision",
    "fabcost.recommend.ledger.Pending",
    "fabcost.features.document.Written",
    "fabcost.inference.saved.checks.SavedCounts",
    "fabcost.features.kinds.Term",
    "fabcost.features.tables.cells.Cells",
    "fabcost.features.tables.sheet.Fault",
    "fabcost.features.tables.sheet.Wrong",
    "fabcost.features.inference.Asked",
    "fabcost.gaussian.Marginal",
    "fabcost.inference.compare.MomentError",
    "fabcost.inference.ep.EPResult",
    "fabcost.inference.passes.Swept",
    "fabcost.inference.nuts.NutsResult",
    "fabcost.inference.history.Carried",
    "fabcost.inference.history.Pass",
    "fabcost.inference.history.Sites",
    "fabcost.inference.logistic.LogDensity",
    "fabcost.tilted.Tilted",
}


def names_in(document: Path) -> list[str]:
    return sorted(set(DOTTED_NAME.findall(document.read_text(encoding="utf-8"))))


def resolve(name: str) -> Any:
    """The module, or the attribute of the longest importable prefix."""
    parts = name.split(".")
    found: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part) and isinstance(found, ModuleType):
            found = importlib.import_module(".".join(parts[:depth]))
        else:
            found = getattr(found, part)
    return found


def table_rows(start: str) -> list[str]:
    """Rows of the tables in paper-to-code.md whose first cell contains ``start``."""
    lines = PAPER_TO_CODE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    return [row for row in rows if re.search(rf"{re.escape(start)}(?!\d)", row.split(" | ")[0])]


def public_objects() -> Iterator[tuple[str, Any]]:
    for info in pkgutil.walk_packages(fabcost.__path__, "fabcost."):
        if info.name.startswith(WITHOUT_EXAMPLES) or info.name.rsplit(".", 1)[1].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or not (inspect.isfunction(value) or inspect.isclass(value)):
                continue
            if value.__module__ == info.name:
                yield f"{info.name}.{name}", value


PUBLIC = dict(public_objects())


def is_record(value: Any) -> bool:
    named_tuple = inspect.isclass(value) and issubclass(value, tuple) and hasattr(value, "_fields")
    return named_tuple or dataclasses.is_dataclass(value)


def has_example(value: Any) -> bool:
    """A protocol is an interface, with nothing to run."""
    return getattr(value, "_is_protocol", False) or ">>>" in (value.__doc__ or "")


@pytest.mark.parametrize("name", names_in(PAPER_TO_CODE))
def test_home_in_paper_to_code_exists(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize("name", names_in(MATHEMATICS))
def test_name_in_mathematics_exists(name: str) -> None:
    assert resolve(name) is not None


def test_resolving_a_name_that_does_not_exist_fails() -> None:
    with pytest.raises(ImportError):
        resolve("fabcost.inference.absent")
    with pytest.raises(AttributeError):
        resolve("fabcost.gaussian.Gaussian.absent")


def test_documents_name_enough_for_the_checks_to_mean_something() -> None:
    assert len(names_in(PAPER_TO_CODE)) >= 35
    assert len(names_in(MATHEMATICS)) >= 25


@pytest.mark.parametrize(("number", "label"), ALGORITHMS.items())
def test_algorithm_has_a_row(number: int, label: str) -> None:
    (row,) = table_rows(f"Algorithm {number}")
    assert f"`{label}`" in row


@pytest.mark.parametrize(("number", "label"), FIGURES.items())
def test_figure_has_a_row(number: int, label: str) -> None:
    (row,) = table_rows(f"Figure {number}")
    assert f"`{label}`" in row


@pytest.mark.parametrize("label", LABELLED_EQUATIONS)
def test_labelled_equation_has_a_row(label: str) -> None:
    assert len(table_rows(f"`{label}`")) == 1


@pytest.mark.parametrize("number", range(1, NUMBERED_EQUATIONS + 1))
def test_numbered_equation_has_a_row(number: int) -> None:
    assert len(table_rows(f"equation {number}")) == 1


def test_every_row_has_a_home_or_is_planned() -> None:
    for row in PAPER_TO_CODE.read_text(encoding="utf-8").splitlines():
        if not row.startswith("| ") or row.startswith("| In the paper"):
            continue
        home = row.split(" | ")[2]
        assert home == "planned" or DOTTED_NAME.fullmatch(home), row


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - RECORDS))
def test_public_name_has_an_example(name: str) -> None:
    assert has_example(PUBLIC[name])


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_only_records_are_excused_from_an_example(name: str) -> None:
    assert is_record(PUBLIC[name])
    assert PUBLIC[name].__doc__

"""Whatever can be saved as a file, and whatever a file holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabcost import archive
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.beta import BetaBernoulli
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.inference.online import FabCost
from fabcost.inference.own.directory import check_keys
from fabcost.inference.saved import file as learners
from fabcost.inference.saved.checks import entry, gaussian_of, numbers
from fabcost.inference.wide import file as wide_file
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend import document
from fabcost.recommend.recommender import Recommender

State = tuple[dict[str, Any], dict[str, archive.Array]]


def save(what: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner, recommender, bandit, classifier, schema or belief to ``path``.

    A file already there is replaced in one step, and no pickle is used.  That of a recommender has
    its schema and its learner; that of a classifier after `fit` has no rows, as its pickle.

    Examples
    --------
    >>> import fabcost, tempfile
    >>> model = fabcost.BayesianLogisticRegression().fit([[-1.0], [0.0], [1.0]], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fabcost.save(model, f"{folder}/model.fabcost")
    ...     fabcost.load(f"{folder}/model.fabcost").predict([[2.0]])
    array([1])
    """
    if isinstance(what, FabCost):
        content = learners.to_bytes(what)
    elif isinstance(what, Recommender):
        content = what.to_bytes()
    elif isinstance(what, WideFabCost):
        content = wide_file.to_bytes(what)
    else:
        kind = _kind_of(what)
        content = archive.pack(kind.format, *kind.state(what))
    archive.replace_file(path, content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote; what it learns from then on has the bits of one that never stopped.

    A file that is truncated, altered or of a newer version is a ValueError that says so.

    Examples
    --------
    >>> load("no-such-file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file'
    """
    content, source = Path(path).read_bytes(), str(path)
    word = content[:40].partition(b" ")[0].decode("ascii", errors="replace")
    if word == document.FORMAT.word:
        return Recommender.from_bytes(content, source=source)
    if word == learners.LEARNER.word:
        return learners.from_bytes(content, source=source)
    kind = _kind_named(word)
    if kind is None:
        raise ValueError(
            f"{source} is nothing that fabcost.save writes: it begins with none of "
            f"{', '.join(repr(each) for each in _WORDS)}"
        )
    settings, arrays = archive.unpack(kind.format, content, source)
    with archive.told_of(source, kind.format):
        return kind.restored(settings, arrays)


class Kind(NamedTuple):
    """A kind of file, what it says of something, and that again.

    Examples
    --------
    >>> _KINDS[Gaussian].state(Gaussian.isotropic(1))[1]["mean"]
    array([0.])
    """

    format: archive.Format
    state: Callable[[Any], State]
    restored: Callable[..., Any]


def _bandit_state(bandit: Bandit) -> State:
    learner, arrays = document.learner_state(bandit.learner)
    policy = document.policy_to_dict(bandit.policy)
    return {**learner, "policy": policy, "rng": document.rng_state(bandit.rng)}, arrays


def _bandit_of(settings: dict[str, Any], arrays: dict[str, archive.Array]) -> Bandit:
    learner = document.restored_learner(settings, arrays)
    bandit = Bandit(learner, policy=document.policy_from_dict(entry(settings, "policy")))
    bandit.rng.bit_generator.state = entry(settings, "rng")
    return bandit


def _beta_state(bandit: BetaBernoulli) -> State:
    items = list(bandit.items)
    check_keys(items)
    counts = np.array([bandit.counts(item) for item in items], dtype=np.int64).reshape(-1, 2)
    rng = document.rng_state(bandit.rng)
    return {"prior": bandit.prior, "items": items, "rng": rng}, {"counts": counts}


def _beta_of(settings: dict[str, Any], arrays: dict[str, archive.Array]) -> BetaBernoulli:
    bandit, items = BetaBernoulli(entry(settings, "prior")), entry(settings, "items")
    check_keys(items)
    counts = numbers(arrays, "counts", len(items), 2, kind="i")
    if None in items or len(set(items)) != len(items) or (counts < 0).any():
        raise ValueError("items must be a list, each once, with counts that are not negative")
    bandit.restore(items, counts)
    bandit.rng.bit_generator.state = entry(settings, "rng")
    return bandit


_KINDS = {
    Gaussian: Kind(
        archive.Format("fabcost-gaussian", 1, "belief"),
        lambda belief: ({}, {"mean": belief.mean, "root": belief.root}),
        lambda _, arrays: gaussian_of(arrays),
    ),
    Schema: Kind(
        archive.Format("fabcost-schema", 1, "schema"),
        lambda schema: (schema.to_dict(), {}),
        lambda settings, _: Schema.from_dict(settings),
    ),
    Bandit: Kind(archive.Format("fabcost-bandit", 1, "bandit"), _bandit_state, _bandit_of),
    BetaBernoulli: Kind(archive.Format("fabcost-beta", 1, "bandit"), _beta_state, _beta_of),
    WideFabCost: Kind(wide_file.WIDE_LEARNER, WideFabCost.state, WideFabCost.restored),
}
#: Where the others are told of, by their words: what these need is imported for them only.
_ELSEWHERE = {
    "fabcost-classifier": ("BayesianLogisticRegression", "fabcost.notebook.classifier"),
    "fabcost-river": ("RiverClassifier", "fabcost.notebook.river"),
}
_NAMES = ["FabCost", "Recommender", *(each.__name__ for each in _KINDS)]
_NAMES += [name for name, _ in _ELSEWHERE.values()]
_WORDS = [learners.LEARNER.word, document.FORMAT.word]
_WORDS += [*(kind.format.word for kind in _KINDS.values()), *_ELSEWHERE]


def _kind_named(word: str) -> Kind | None:
    if word in _ELSEWHERE:
        home = import_module(_ELSEWHERE[word][1])
        return Kind(home.FORMAT, home.state_of, home.restored)
    return next((kind for kind in _KINDS.values() if kind.format.word == word), None)


def _kind_of(what: object) -> Kind:
    name = type(what).__name__
    word = next((word for word, (of, _) in _ELSEWHERE.items() if of == name), "")
    found = _KINDS.get(type(what)) or _kind_named(word)
    if found is not None:
        return found
    if hasattr(what, "predict_proba"):
        raise TypeError(
            f"a {name} is saved as scikit-learn's estimators are, by pickle, joblib or skops; "
            "fabcost.save takes the BayesianLogisticRegression in it"
        )
    raise TypeError(f"what is saved is a {name} but must be one of {', '.join(_NAMES)}")

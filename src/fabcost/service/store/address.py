"""Which database an address means."""

from __future__ import annotations

from fabcost.service.errors import DatabaseUnusableError
from fabcost.service.store.database import Database
from fabcost.service.store.postgres import Postgres
from fabcost.service.store.protocol import Store
from fabcost.service.store.sqlite import Sqlite


def store_at(address: str) -> Store:
    """The store at ``sqlite:///path``, at a bare path, or at ``postgresql://…``; not yet open.

    As usual, ``sqlite:///news.db`` is a path relative to the working directory and
    ``sqlite:////var/news.db`` an absolute one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = store_at(f"sqlite:///{folder}/bandit.db")
    ...     store.open(take_over=True)
    ...     store.models()
    ...     store.close()
    []
    """
    scheme, found, rest = address.partition("://")
    if not found:
        return Database(Sqlite(address))
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return Database(Sqlite(rest[1:]))
    if scheme in {"postgresql", "postgres"}:
        return Database(Postgres(address))
    raise DatabaseUnusableError(
        f"the address of the database begins with {scheme + found!r} "
        "but must be a path, sqlite:///path or postgresql://…"
    )

"""A database with all tables."""

from __future__ import annotations

from fabcost.service.store.decision_tables import DecisionTables
from fabcost.service.store.feedback_tables import FeedbackTables
from fabcost.service.store.key_table import KeyTable
from fabcost.service.store.model_tables import ModelTables


class Store(ModelTables, DecisionTables, FeedbackTables, KeyTable):
    """A database over either driver.

    What is written must be written inside `transaction`; only API keys have their own.

    Examples
    --------
    >>> import tempfile
    >>> from fabcost.service.store.rows import ModelRow
    >>> from fabcost.service.store.sqlite import Sqlite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Store(Sqlite(f"{folder}/bandit.db"))
    ...     database.open(take_over=True)
    ...     with database.transaction():
    ...         database.insert_model(ModelRow("news", "{}", 1.0, 1.0, 0, 0), None)
    ...     [row.model for row in database.models()], database.latest_time()
    ...     database.close()
    (['news'], 1.0)
    """

"""All operations of the native API."""

from __future__ import annotations

from typing import Any

from fabcost.service.http.bodies import (
    Activation,
    ActivationAnswer,
    BulkFeedbackAnswer,
    CatalogueVersion,
    DecisionsAnswer,
    Imported,
    KeyAnswer,
    KeysAnswer,
    ModelsAnswer,
    NewKey,
    NewModel,
    Readiness,
    State,
    limited,
)
from fabcost.service.http.operation import Bytes, Operation
from fabcost.service.http.routes import (
    decisions,
    items,
    keys,
    models,
    server,
    stats,
    transfers,
)
from fabcost.service.settings import Settings
from fabcost.wire.messages import (
    DecisionAnswer,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    ItemsAnswer,
    ModelAnswer,
    PosteriorAnswer,
    Record,
    StatsAnswer,
)

_MODEL = "/v1/models/{model}"
_ITEM = _MODEL + "/items/{item:path}"
_FILE = Bytes((transfers.OCTETS,))
_LOG = Bytes(transfers.LOG_TYPES)


def table(settings: Settings) -> list[Operation]:
    """Every operation, with bodies bounded by the settings.

    Examples
    --------
    >>> sorted({each.path for each in table(Settings())})[:3]
    ['/healthz', '/metrics', '/openapi.json']
    """
    return [
        *_of_models(),
        *_of_items(settings),
        *_of_decisions(settings),
        *_of_transfers(),
        *_of_keys(),
        *_of_the_server(),
    ]


def _of_models() -> list[Operation]:
    changes = dict[str, Any]
    return [
        Operation("GET", "/v1/models", models.list_models, "read", ModelsAnswer, of_any_model=True),
        Operation(
            "POST",
            "/v1/models",
            models.create_model,
            "admin",
            ModelAnswer,
            201,
            body=NewModel,
            errors=(409,),
        ),
        Operation("GET", _MODEL, models.get_model, "read", ModelAnswer),
        Operation("PATCH", _MODEL, models.change_model, "admin", ModelAnswer, body=changes),
        Operation("DELETE", _MODEL, models.delete_model, "admin", None, 204),
        Operation("GET", _MODEL + "/posterior", models.get_posterior, "read", PosteriorAnswer),
        Operation(
            "GET",
            _MODEL + "/stats",
            stats.get_stats,
            "read",
            StatsAnswer,
            query=stats.StatsQuery,
        ),
    ]


def _of_items(settings: Settings) -> list[Operation]:
    bodies, path = limited(settings), _MODEL + "/items"
    return [
        Operation(
            "PUT",
            path,
            items.put_items,
            "admin",
            CatalogueVersion,
            body=bodies.items,
            transfer=True,
        ),
        Operation("GET", path, items.list_items, "read", ItemsAnswer, query=items.ItemsQuery),
        Operation("PUT", _ITEM, items.put_item, "admin", CatalogueVersion, body=bodies.item),
        Operation("GET", _ITEM, items.get_item, "read", Record),
        Operation("DELETE", _ITEM, items.delete_item, "admin", None, 204),
    ]


def _of_decisions(settings: Settings) -> list[Operation]:
    bodies, path = limited(settings), _MODEL + "/decisions"
    one = path + "/{decision:path}"
    query = decisions.DecisionsQuery
    return [
        Operation(
            "POST",
            path,
            decisions.decide,
            "decide",
            DecisionAnswer,
            body=bodies.decision,
            begin=decisions.begin_to_decide,
        ),
        Operation("GET", path, decisions.list_decisions, "read", DecisionsAnswer, query=query),
        Operation("GET", one, decisions.get_decision, "read", DecisionView),
        Operation(
            "GET",
            _MODEL + "/explanations/{decision:path}",
            decisions.explain,
            "read",
            ExplanationAnswer,
        ),
        Operation(
            "POST",
            _MODEL + "/activations",
            decisions.activate,
            "feedback",
            ActivationAnswer,
            body=Activation,
        ),
        Operation(
            "POST",
            _MODEL + "/feedback",
            decisions.give_feedback,
            "feedback",
            FeedbackAnswer,
            body=FeedbackRequest,
        ),
        Operation(
            "POST",
            _MODEL + "/feedback/bulk",
            decisions.give_bulk_feedback,
            "feedback",
            BulkFeedbackAnswer,
            body=bodies.bulk_feedback,
        ),
    ]


def _of_transfers() -> list[Operation]:
    file, log = _MODEL + "/file", _MODEL + "/log"
    query = transfers.LogQuery
    return [
        Operation("GET", file, transfers.export_model, "read", _FILE, transfer=True),
        Operation(
            "PUT",
            file,
            transfers.import_model,
            "admin",
            ModelAnswer,
            201,
            body=_FILE,
            errors=(409,),
            transfer=True,
        ),
        Operation("GET", log, transfers.export_log, "read", _LOG, query=query, transfer=True),
        Operation(
            "POST",
            log,
            transfers.import_log,
            "admin",
            Imported,
            query=transfers.ImportQuery,
            body=_LOG,
            transfer=True,
        ),
    ]


def _of_keys() -> list[Operation]:
    path = "/v1/keys"
    return [
        Operation("GET", path, keys.list_keys, "admin", KeysAnswer),
        Operation("POST", path, keys.create_key, "admin", KeyAnswer, 201, body=NewKey),
        Operation("DELETE", path + "/{key_id}", keys.revoke_key, "admin", None, 204),
    ]


def _of_the_server() -> list[Operation]:
    text = Bytes((server.METRICS_TYPE,))
    return [
        Operation("GET", "/healthz", server.get_health, None, State),
        Operation("GET", "/readyz", server.get_readiness, None, Readiness),
        Operation("GET", "/metrics", server.get_metrics, "read", text),
        Operation("GET", "/openapi.json", server.get_document, None, dict[str, Any]),
    ]

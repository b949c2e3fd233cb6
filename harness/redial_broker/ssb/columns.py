"""Columns of a queue, and functions that build just the columns a statement asks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from redial_broker.engine.clock import EPOCH
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.types import (
    BIGINT,
    DATETIME,
    INT,
    TINYINT,
    UNIQUEIDENTIFIER,
    VARBINARY_MAX,
    ResultColumn,
    nvarchar,
    sql_type,
)

if TYPE_CHECKING:
    from datetime import datetime

    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.needs import Stored

_COLUMNS = (
    # name, type, how it comes from the endpoint e, the message m and the status s
    ("status", TINYINT, "s"),
    ("priority", TINYINT, "e.priority"),
    ("queuing_order", BIGINT, "m[0]"),
    ("conversation_group_id", UNIQUEIDENTIFIER, "e.group.group_id"),
    ("conversation_handle", UNIQUEIDENTIFIER, "e.handle"),
    ("message_sequence_number", BIGINT, "m[1]"),
    ("service_name", nvarchar(512), "e.service.name"),
    ("service_id", INT, "e.service.service_id"),
    ("service_contract_name", nvarchar(256), "e.contract.name"),
    ("service_contract_id", INT, "e.contract.contract_id"),
    ("message_type_name", nvarchar(256), "m[2].name"),
    ("message_type_id", INT, "m[2].message_type_id"),
    ("validation", sql_type("nchar", 2), "m[2].validation"),
    ("message_body", VARBINARY_MAX, "m[3]"),
    ("message_enqueue_time", DATETIME, "moment(m)"),
    ("message_id", UNIQUEIDENTIFIER, "message_id(e, m)"),
)

RESULT_COLUMNS = [ResultColumn(name, type_) for name, type_, _ in _COLUMNS]
"""The columns in table order (CREATE QUEUE page; message_enqueue_time as practitioners see it)."""

BROKER_NAMES = frozenset({"service_name", "service_contract_name", "message_type_name"})
"""Columns with names that are compared byte for byte (F-376)."""

NAMES = {name: position for position, (name, _, _) in enumerate(_COLUMNS)}
QUEUING_ORDER = NAMES["queuing_order"]

Builder = Callable[["Endpoint", tuple, int], tuple]  # type: ignore[type-arg]  # Stored; a row


def _moment(message: Stored) -> datetime:
    """Enqueue time as datetime, UTC."""
    return EPOCH + timedelta(seconds=message[4])


def _message_id(endpoint: Endpoint, message: Stored) -> str:
    """A uniqueidentifier of the message, the same whenever it is asked for."""
    return stream_guid(endpoint.broker.engine.seed, f"message/{endpoint.handle}/{message[0]}", 0)


@lru_cache(maxsize=1024)
def row_builder(positions: tuple[int, ...]) -> Builder:
    """(endpoint, message, status) -> row of the columns at ``positions``, in that order.

    Put together from the fragments above only: a RECEIVE builds one such row per message.
    """
    fields = "".join(f"{_COLUMNS[position][2]}, " for position in positions)
    space: dict[str, object] = {"moment": _moment, "message_id": _message_id}
    return cast(Builder, eval(f"lambda e, m, s: ({fields})", space))


full_row = row_builder(tuple(range(len(_COLUMNS))))
"""The whole row, for SELECT."""

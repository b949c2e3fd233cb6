"""What a server can be asked about the messages and dialogs of one configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from redial.config import Config
from redial.envelope import caller_bytes
from redial.operate.deadlocks import RING_BUFFER, sentences
from redial.render.quoting import literal, quote_name

Identity = tuple[int, int]
"""(client, number): what a client calls the message."""

Ask = Callable[[str], list[Any]]
"""A query's rows, as a driver gives them."""

Identify = Callable[[bytes | None], Identity | None]
"""Reads a message's own name out of its body; None for a body nobody here has made."""


class Cursor(Protocol):
    """As much of a DB-API cursor as is needed here."""

    def execute(self, sql: str, /) -> Cursor:
        """Run a query; the cursor that has its rows."""

    def fetchall(self) -> list[Any]:
        """Those rows."""

    def close(self) -> None:
        """Done."""


class Connection(Protocol):
    """As much of a DB-API connection as is needed here."""

    def cursor(self) -> Cursor:
        """A new one."""


@dataclass(frozen=True)
class Row:
    """One landed, pending or dead-lettered message."""

    conversation: str
    sequence: int
    type: str
    """The message type's name."""
    identity: Identity | None = None
    reason: str = ""


@dataclass(frozen=True)
class Dialog:
    """One row of ConversationLog."""

    conversation: str
    messages: int | None
    """User messages sent on it, None while it is open."""
    end_of_stream: bool
    ended: bool
    resent: int = 0
    """Those of them that went out again on another dialog."""


@dataclass(frozen=True)
class Endpoint:
    """One row of sys.conversation_endpoints."""

    conversation: str
    initiator: bool
    state: str
    in_use: bool
    """Its handle is in SessionConversations."""


@dataclass
class Evidence:
    """Everything the verdict is computed from. landed is in the order of landing; rows of one
    conversation that landed at one moment, as those of a batch do, are in that of their numbers:
    nobody promises how the rowversions go within one INSERT (F-365)."""

    user_types: frozenset[str]
    """Message types callers send."""
    end_of_stream: str
    landed: list[Row] = field(default_factory=list)
    pending: list[Row] = field(default_factory=list)
    dead: list[Row] = field(default_factory=list)
    dialogs: list[Dialog] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)
    errors: list[tuple[int | None, str]] = field(default_factory=list)
    """Rows of ErrorLog as (number, text)."""
    deadlocks: list[str] = field(default_factory=list)
    """The server's reports of deadlocks with a module of this configuration, in words."""
    booked: dict[str, int] = field(default_factory=dict)
    """Per conversation, how many of its first messages were accounted for and deleted before."""


def collect(connection: Connection, config: Config, identify: Identify) -> Evidence:
    """Ask the server.

    Needs a principal that sees every row (db_owner: sys.transmission_queue is filtered, F-113).
    """
    schema = quote_name(config.schema_name)
    evidence = Evidence(
        frozenset(t.name for t in config.message_types), config.contract.end_of_stream
    )
    with closing(connection.cursor()) as cursor:

        def rows(sql: str) -> list[Any]:
            return cursor.execute(sql).fetchall()

        evidence.landed = [
            Row(_id(c), s, t, identify(body))
            for c, s, t, body in rows(
                "SELECT l.ConversationId, l.MessageSequence, l.MessageType, l.Body "
                f"FROM {schema}.[Landing] AS l ORDER BY MIN(l.RowVersion) OVER "
                "(PARTITION BY l.ConversationId, l.LandedUtc), l.MessageSequence;"
            )
        ]
        evidence.dead = [
            Row(_id(c), s, t or "", identify(caller_bytes(body)), f"code {code}: {reason}")
            for c, s, t, body, code, reason in rows(
                "SELECT d.ConversationId, d.MessageSequence, d.MessageType, d.Body, d.Code, "
                f"d.Reason FROM {schema}.[DeadLetter] AS d;"
            )
        ]
        evidence.pending = _pending(rows, config, identify)
        evidence.dialogs = [
            Dialog(_id(c), messages, eos is not None, ended is not None, resent or 0)
            for c, messages, eos, ended, resent in rows(
                "SELECT cl.ConversationId, cl.Messages, cl.EndOfStreamUtc, cl.EndedUtc, cl.Resent "
                f"FROM {schema}.[ConversationLog] AS cl;"
            )
        ]
        evidence.endpoints = _endpoints(rows, config)
        evidence.errors = [
            (number, f"{procedure}: {text}")
            for procedure, number, text in rows(
                "SELECT e.ProcedureName, e.ErrorNumber, e.ErrorMessage "
                f"FROM {schema}.[ErrorLog] AS e;"
            )
        ]
        evidence.deadlocks = _deadlocks(rows, config.schema_name)
    return evidence


def _pending(rows: Ask, config: Config, identify: Identify) -> list[Row]:
    """User messages not received yet: in the transmission queue, or unread in the target's."""
    types = ", ".join(literal(t.name) for t in config.message_types)
    queue = f"{quote_name(config.schema_name)}.{quote_name(config.queues.target)}"
    sources = (
        "SELECT tq.conversation_handle, tq.message_sequence_number, tq.message_type_name, "
        "tq.message_body FROM sys.transmission_queue AS tq "
        f"WHERE tq.message_type_name IN ({types});",
        "SELECT q.conversation_handle, q.message_sequence_number, q.message_type_name, "
        f"q.message_body FROM {queue} AS q WITH (NOLOCK) "
        f"WHERE q.message_type_name IN ({types});",
    )
    conversations = {
        _id(handle): _id(conversation)
        for handle, conversation in rows(
            "SELECT ce.conversation_handle, ce.conversation_id "
            "FROM sys.conversation_endpoints AS ce;"
        )
    }
    return [
        Row(conversations.get(_id(handle), ""), sequence, type_, identify(caller_bytes(body)))
        for sql in sources
        for handle, sequence, type_, body in rows(sql)
    ]


def _endpoints(rows: Ask, config: Config) -> list[Endpoint]:
    """Both sides of every dialog between the configuration's services."""
    schema = quote_name(config.schema_name)
    services = f"{literal(config.services.initiator)}, {literal(config.services.target)}"
    handles = rows(f"SELECT sc.Handle FROM {schema}.[SessionConversations] AS sc;")
    in_use = {_id(handle) for (handle,) in handles}
    return [
        Endpoint(_id(conversation), bool(initiator), state, _id(handle) in in_use)
        for conversation, handle, initiator, state in rows(
            "SELECT ce.conversation_id, ce.conversation_handle, ce.is_initiator, ce.state_desc "
            "FROM sys.conversation_endpoints AS ce "
            "INNER JOIN sys.services AS s ON s.service_id = ce.service_id "
            f"WHERE s.name IN ({services});"
        )
    ]


def _deadlocks(rows: Ask, schema: str) -> list[str]:
    """The server's deadlock reports; none where they cannot be read."""
    try:
        found = rows(RING_BUFFER)
    except Exception:
        return []  # no VIEW SERVER STATE: then only the callers' 1205 are counted
    return sentences(found[0][0], schema) if found else []


def _id(value: Any) -> str:
    """A GUID as text; drivers give them in either case."""
    return "" if value is None else str(value).upper()

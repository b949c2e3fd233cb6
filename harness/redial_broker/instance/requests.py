"""What a client asks of a session: one dataclass per kind of request.

The wire (``redial_broker.tds``) decodes into these, in-process tests and the explorer build them
directly, and ``Session.submit`` takes any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from redial_broker.engine.state import definition
from redial_broker.engine.types import ResultColumn, SqlType, sql_type

TABLE = sql_type("table")
"""Static type of a table-valued parameter; its value is a ``TableValue`` (None: no rows given)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of T-SQL text, exactly as the client sent it."""

    text: str


@definition()
@dataclass(frozen=True, slots=True)
class TableValue:
    """The value of a table-valued parameter."""

    schema: str
    name: str
    """schema, name: the table type as the client named it ('' when it named none)."""
    columns: tuple[ResultColumn, ...] = ()
    """In the client's order, names mostly ''."""
    rows: tuple[tuple[object, ...], ...] = ()
    """One tuple per row, in order. ``defaults`` holds the indexes of columns whose values the
    client left to the server."""
    defaults: frozenset[int] = frozenset()


@definition()
@dataclass(slots=True)  # not frozen: a frozen one takes three times as long to make
class RpcParam:
    """One parameter of a remote procedure call."""

    name: str
    """With its @, or '' for a positional one."""
    type: SqlType
    """What the client declared, which for NULL may be misleading."""
    value: object
    output: bool = False
    """Pass the final value back."""
    default: bool = False
    """The client asked for the procedure's own default (value is None then)."""


@definition()
@dataclass(slots=True)
class Rpc:
    """One remote procedure call; system procedures come by name too (``sp_executesql`` ...)."""

    name: str
    params: tuple[RpcParam, ...] | list[RpcParam] = ()
    no_metadata: bool = False
    """The client still knows the result's columns; sending them again does no harm."""


@dataclass(frozen=True, slots=True)
class RpcBatch:
    """Several calls sent as one message; each ends with its own ``proc_done``."""

    calls: tuple[Rpc, ...] | list[Rpc]


@dataclass(frozen=True, slots=True)
class TransactionRequest:
    """A transaction-manager request, the wire's own BEGIN, COMMIT, ROLLBACK and SAVE."""

    kind: str
    """Begin, commit, rollback or save."""
    name: str = ""
    """Of the transaction or savepoint, '' for none."""
    isolation: str | None = None
    """Level to set with a begin, in T-SQL words ('SERIALIZABLE'), None to leave it."""
    begin_after: bool = False
    """Commit or rollback goes on with a new transaction, with isolation_after and name_after."""
    isolation_after: str | None = None
    name_after: str = ""


@dataclass(frozen=True, slots=True)
class BulkLoad:
    """The rows that follow an INSERT BULK statement; columns are named as the client sent them."""

    columns: tuple[ResultColumn, ...] | list[ResultColumn]
    rows: list[tuple[object, ...]] = field(default_factory=list)


@definition()
@dataclass(frozen=True, slots=True)
class Wire:
    """How a client is connected, as sys.dm_exec_connections shows it."""

    encrypted: bool = False
    packet_size: int = 4096
    protocol: int = 0x74000004
    """The TDS version as LOGINACK names it."""
    library: str = ""
    """The name the client's driver gives itself. An in-process session has none of it and these
    values."""


Request = Batch | Rpc | RpcBatch | TransactionRequest | BulkLoad

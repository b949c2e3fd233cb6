"""What a read gives: the columns, where each comes from, and the choice of some of them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """One column of the DataFrame."""

    name: str
    kind: str
    """Spark's type."""
    meaning: str


COLUMNS = (
    Column("mark", "binary", "RowVersion: where in the table; tells new rows, not their order"),
    Column("conversation", "string", "ConversationId, the same on both sides; NULL: not visible"),
    Column("handle", "string", "ConversationHandle, the target's own"),
    Column("sequence", "bigint", "MessageSequence: the order sent within the conversation, from 0"),
    Column("type", "string", "MessageType: also EndOfStream, EndDialog and Error rows"),
    Column("key", "string", "ConversationKey, where the configuration stamps one"),
    Column("key_seq", "bigint", "KeySequence: the order sent within the key"),
    Column("message_id", "string", "MessageId, where delivery is exactly_once"),
    Column("sent", "timestamp", "SentUtc, where envelope.who is on"),
    Column("landed", "timestamp", "LandedUtc"),
    Column("sender_login", "string", "SenderLogin, where envelope.who is on"),
    Column("sender_app", "string", "SenderApp"),
    Column("sender_host", "string", "SenderHost"),
    Column("body_bytes", "bigint", "length of the body, 0 for none"),
    Column("body", "binary", "Body, byte for byte; NULL for none"),
)
"""Name, Spark type and meaning of each column, in order."""

NAMES = tuple(column.name for column in COLUMNS)

EXPRESSIONS = {
    "mark": "l.RowVersion",
    "conversation": "l.ConversationId",
    "handle": "l.ConversationHandle",
    "sequence": "l.MessageSequence",
    "type": "l.MessageType",
    "key": "l.ConversationKey",
    "key_seq": "l.KeySequence",
    "message_id": "l.MessageId",
    "sent": "l.SentUtc",
    "landed": "l.LandedUtc",
    "sender_login": "l.SenderLogin",
    "sender_app": "l.SenderApp",
    "sender_host": "l.SenderHost",
    "body_bytes": "ISNULL(DATALENGTH(l.Body), 0)",
    "body": "l.Body",
}
"""Where each comes from, in T-SQL; l is the landing table."""

IDS = ("conversation", "handle", "message_id")
"""Uniqueidentifiers, which Spark sees as text in upper case."""


def chosen(text: str | None) -> tuple[Column, ...]:
    """The columns that ``columns`` names, in its order; None: all. text: as checked before."""
    if text is None:
        return COLUMNS
    return tuple(COLUMNS[NAMES.index(name)] for name in _split(text))


def fetched(text: str | None) -> tuple[Column, ...]:
    """The columns of a statement, in order: those that ``columns`` names, where a row is, and what
    tells of its body."""
    asked = chosen(text)
    names = {"mark", *(column.name for column in asked)}
    if "body" in names:
        names |= {"conversation", "handle", "sequence", "body_bytes"}
    return tuple(column for column in COLUMNS if column.name in names)


def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """With exactly the types Spark asks for (4.2 refuses any other)."""
    import pyarrow as pa

    kinds = {
        "binary": pa.binary(),
        "string": pa.string(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(column.name, kinds[column.kind]) for column in columns])


def schema_of(columns: tuple[Column, ...]) -> str:
    """As Spark takes it. Bodies are decoded by Spark's own functions."""
    return ", ".join(f"`{column.name}` {column.kind}" for column in columns)


def wrong_columns(text: str) -> list[str]:
    """What is wrong with the names of ``columns``, a line for each; none: nothing."""
    names = _split(text)
    found = []
    for name in dict.fromkeys(names):
        if name not in NAMES:
            found.append(f"columns: {no_such(name)}; allowed: {', '.join(NAMES)}")
        elif names.count(name) > 1:
            found.append(f"columns: {name} is there twice; allowed: each once")
    return found


def no_such(name: str) -> str:
    """What is said of a name that no column has, with the one that was meant."""
    close = get_close_matches(name, NAMES, n=1)
    return f"there is no column {name!r}" + (f" (did you mean {close[0]}?)" if close else "")


def _split(text: str) -> list[str]:
    return [name.strip().strip("`").lower() for name in text.split(",")]

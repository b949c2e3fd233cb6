"""The T-SQL of every way of sending, and of the callers' own table."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redial.config import Config
from redial.config.choices import Delivery
from redial.render.quoting import literal, quote_name

WAYS = ("send", "json", "table", "outbox", "trigger")
"""usp_Send; usp_SendBatch with JSON; with a table; INSERT INTO Outbox; an application's trigger."""

BATCHES = frozenset({"json", "table", "outbox"})
"""Those that take several messages at once: all or none."""

WORK = "dbo.Work"
"""A table of the application's; a row that is inserted is sent by a trigger."""

LOGIN, PASSWORD = "torture_caller", "Torture-2026"
"""Of every caller, on the embedded broker as on a server."""


@dataclass(frozen=True)
class Message:
    """What is sent. key and message_id only where the configuration takes them."""

    body: bytes
    key: str | None
    message_id: str | None


class Calls:
    """The statements a caller of one configuration sends messages with."""

    def __init__(self, config: Config, installed: Sequence[str] = ()) -> None:
        self.config = config
        self.schema = quote_name(config.schema_name)
        self.type = literal(config.message_types[0].name)
        self.services = ", ".join(
            literal(name)
            for name in (config.services.initiator, config.services.target, config.contract.name)
        )
        self.by_key = config.traits.named
        self.with_ids = config.conversation.delivery == Delivery.EXACTLY_ONCE
        names = " ".join(installed)
        self.ways = tuple(
            way
            for way in WAYS
            if way in {"send", "trigger"} or not installed or "usp_SendBatch" in names
        )

    def of(self, way: str, messages: Sequence[Message]) -> str:
        """A statement that sends these messages; one message only, unless way is in BATCHES."""
        made: Callable[[Sequence[Message]], str] = getattr(self, f"_{way}")
        return made(messages)

    def _send(self, messages: Sequence[Message]) -> str:
        (message,) = messages
        more = f", @key = {_text(message.key)}" if message.key is not None else ""
        more += f", @messageId = '{message.message_id}'" if message.message_id else ""
        return (
            f"EXECUTE {self.schema}.usp_Send {self.services}, {self.type}, "
            f"0x{message.body.hex()}{more};"
        )

    def _json(self, messages: Sequence[Message]) -> str:
        rows = [
            {
                "ordinal": place,
                "type": self.config.message_types[0].name,
                "key": message.key,
                "body": b64encode(message.body).decode(),
                "id": message.message_id,
            }
            for place, message in enumerate(messages)
        ]
        return (
            f"EXECUTE {self.schema}.usp_SendBatch {self.services}, "
            f"@json = {literal(json.dumps(rows))};"
        )

    def _table(self, messages: Sequence[Message]) -> str:
        return (
            f"DECLARE @m {self.schema}.MessageBatch; INSERT INTO @m {self._rows(messages)} "
            f"EXECUTE {self.schema}.usp_SendBatch {self.services}, @m;"
        )

    def _outbox(self, messages: Sequence[Message]) -> str:
        return f"INSERT INTO {self.schema}.Outbox {self._rows(messages)}"

    def _rows(self, messages: Sequence[Message]) -> str:
        values = ", ".join(
            f"({place}, {self.type}, 0x{message.body.hex()}, {_text(message.key)}, "
            f"{_text(message.message_id)})"
            for place, message in enumerate(messages)
        )
        return f"(Ordinal, MessageType, MessageBody, MessageKey, MessageId) VALUES {values};"

    def _trigger(self, messages: Sequence[Message]) -> str:
        (message,) = messages
        return (
            f"INSERT INTO {WORK} (Body, MessageKey, MessageId) VALUES (0x{message.body.hex()}, "
            f"{_text(message.key)}, {_text(message.message_id)});"
        )

    def application(self, role_members: Sequence[str]) -> list[str]:
        """Batches that make the application: its table, its trigger and its users' rights."""
        key = ", @key = @key" if self.by_key else ""
        message_id = ", @messageId = @id" if self.with_ids else ""
        users = [
            f"CREATE USER {quote_name(name)} FOR LOGIN {quote_name(name)}; "
            f"ALTER ROLE {quote_name(self.config.roles.sender)} ADD MEMBER "
            f"{quote_name(name)}; GRANT SELECT, INSERT ON {WORK} TO {quote_name(name)};"
            for name in role_members
        ]
        return [
            f"CREATE TABLE {WORK} (Id int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Body "
            "varbinary(max) NULL, MessageKey nvarchar(200) NULL, MessageId uniqueidentifier NULL);",
            f"CREATE TRIGGER dbo.Work_Send ON {WORK} AFTER INSERT AS "
            "SET NOCOUNT ON; DECLARE @body varbinary(max), @key nvarchar(200), "
            "@id uniqueidentifier; SELECT @body = Body, @key = MessageKey, @id = MessageId "
            f"FROM inserted; EXECUTE {self.schema}.usp_Send {self.services}, {self.type}, "
            f"@body{key}{message_id};",
            *users,
        ]


def _text(value: str | None) -> str:
    return "NULL" if value is None else literal(value)

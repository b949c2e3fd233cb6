"""A stage for hostile callers: one deployed configuration, callers, and what must hold after."""

from __future__ import annotations

import base64
import json
from functools import cache
from itertools import product
from typing import Any

import pytest

from redial.config import Config
from redial.config.choices import Recycle
from redial_broker.engine.switches import SWITCHES, check, shown
from redial_broker.instance.instance import PASSWORD, USER, Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_broker.instance.snapshot import Snapshot
from tests.choices import KEYS, PLAIN, TRAITS, WITH_ROWS, WITHOUT_ROWS
from tests.installed import rendered, split
from tests.product.sql.lab import AUDIT

SHARED_ROW = WITH_ROWS
"""Those whose sender owns a row of SessionConversations."""

BATCH = " in a batch"
"""Behind a key: the caller sends by usp_SendBatch, a message at a time, instead of usp_Send."""

WAYS = (*KEYS, *(key + BATCH for key in KEYS if key in PLAIN))
ROW_WAYS = tuple(way for way in WAYS if way.removesuffix(BATCH) in SHARED_ROW)

NEVER = set(WITHOUT_ROWS)
"""Keys that know no recycling."""


def configured(key: str = "spid", **sections: dict[str, Any]) -> Config:
    """The audit configuration with another key, and other values of whole sections."""
    data = AUDIT.model_dump(by_alias=True, mode="json")
    data["conversation"]["key"] = key
    if key in NEVER:
        data["conversation"]["recycle"] = Recycle.NEVER.value
    for section, values in sections.items():
        data[section] |= values
    return Config.model_validate(data)


def switched(*names: str) -> Any:
    """Parametrise ``switches`` over every combination of values of the switches named."""
    every = product(*(SWITCHES[name].values for name in names))
    choices = [dict(zip(names, values)) for values in every]
    ids = [
        "-".join(shown(value).replace(" ", "_") for value in choice.values()) for choice in choices
    ]
    return pytest.mark.parametrize("switches", choices, ids=ids)


keys = pytest.mark.parametrize("key", KEYS)
ways = pytest.mark.parametrize("key", WAYS)
row_keys = pytest.mark.parametrize("key", SHARED_ROW)
row_ways = pytest.mark.parametrize("key", ROW_WAYS)

WHEN_COMPILED = frozenset({"openjson_too_long", "receive_status"})
"""Switches that a procedure is compiled with; the others are asked at every statement, so they can
be set on an instance that is deployed already."""


def forget() -> None:
    """Let the next stage be compiled anew: whoever came before has asked what compiling asks."""
    _deployed.cache_clear()


@cache
def _deployed(config: str, switches: tuple) -> tuple[Instance, Snapshot]:
    """An instance with the configuration installed, made once, and the moment to come back to."""
    instance = Instance(seed=1, switches=dict(switches))
    session = instance.login(USER, PASSWORD, "master")
    session.sink = Collector()
    session.execute("CREATE DATABASE lab;").ok()
    session.execute("USE lab;").ok()
    for name, text in rendered(Config.model_validate_json(config)).items():
        if name[:2].isdigit():
            for batch in split(text):
                session.execute(batch.sql).ok()
    session.execute("CREATE TABLE dbo.Orders (Id int NOT NULL PRIMARY KEY);").ok()
    instance.disconnect(session)
    instance.run()
    return instance, instance.snapshot()


class Stage:
    """A database with the configuration and a table dbo.Orders (Id) of the caller's own."""

    def __init__(self, key: str = "spid", switches: dict | None = None, **sections: dict) -> None:
        self.key, self.batch = key.removesuffix(BATCH), key.endswith(BATCH)
        self.traits = TRAITS[self.key]
        self.refusal = 50150 if self.batch else 50100
        self.config = configured(self.key, **sections)
        text = self.config.model_dump_json(by_alias=True)
        switches = switches or {}
        self.instance, moment = _deployed(
            text, tuple((name, value) for name, value in switches.items() if name in WHEN_COMPILED)
        )
        moment.restore()
        self.instance.engine.switches = check(switches)
        self.dba = Caller(self)

    def caller(self) -> Caller:
        """A new session of an application."""
        return Caller(self)

    # ------------------------------------------------------------------ calls
    def send(self, body: str, key: str = "k1") -> str:
        """A call of usp_Send (or usp_SendBatch) as this key wants it. body: hexadecimal digits."""
        if self.batch:
            element = {
                "ordinal": 1,
                "type": "//redial/audit/event",
                "body": base64.b64encode(bytes.fromhex(body)).decode(),
                "key": key if self.traits.named else None,
            }
            return (
                "EXECUTE audit.usp_SendBatch @fromService = N'//redial/audit/initiator', "
                "@toService = N'//redial/audit/target', @onContract = "
                f"N'//redial/audit/contract', @json = N'[{json.dumps(element)}]';"
            )
        last = f", N'{key}'" if self.traits.named else ""
        return (
            "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
            f"N'//redial/audit/contract', N'//redial/audit/event', 0x{body}{last};"
        )

    # ------------------------------------------------------------------ what happens to dialogs
    def dialogs(self) -> list[str]:
        """Handles of the initiator's side."""
        return [
            handle
            for (handle,) in self.dba.rows(
                "SELECT ce.conversation_handle FROM sys.services AS s INNER JOIN "
                "sys.conversation_endpoints AS ce ON ce.service_id = s.service_id WHERE s.name = "
                "N'//redial/audit/initiator';"
            )
        ]

    def forget_dialogs(self) -> None:
        """A DBA ends every dialog of the initiator WITH CLEANUP: rows lead to dead handles."""
        for handle in self.dialogs():
            self.dba.does(f"END CONVERSATION '{handle}' WITH CLEANUP;")

    def end_dialogs(self, how: str = "") -> None:
        """The target ends every dialog while nobody reads the initiator's queue.

        how: ``WITH ERROR = ...`` or nothing.
        """
        self.dba.does("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
        for (handle,) in self.dba.rows(
            "SELECT conversation_handle FROM sys.conversation_endpoints "
            "WHERE is_initiator = 0 AND state <> 'CD';"
        ):
            self.dba.does(f"END CONVERSATION '{handle}' {how};")

    # ------------------------------------------------------------------ what is there
    def landed(self) -> list[str]:
        """Bodies of the landed user messages in order, as hexadecimal digits."""
        return [
            row[0].hex()
            for row in self.dba.rows(
                "SELECT Body FROM audit.Landing WHERE MessageType = N'//redial/audit/event' "
                "ORDER BY RowVersion;"
            )
        ]

    def orders(self) -> list[int]:
        """Rows of the caller's own table."""
        return [row[0] for row in self.dba.rows("SELECT Id FROM dbo.Orders ORDER BY Id;")]

    def left(self) -> dict[str, list]:
        """Locks and transactions there are, as a DBA sees them and as the engine has them."""
        locks = self.dba.rows(
            "SELECT request_session_id, resource_type, request_mode FROM sys.dm_tran_locks "
            "WHERE resource_type <> N'DATABASE';"
        )
        held = list(self.instance.engine.locks.resources)
        transactions = [s.id for s in self.instance.sessions.values() if s.transaction is not None]
        return {"locks": locks, "held": held, "transactions": transactions}

    def is_clean(self) -> None:
        """Nobody holds a lock or has a transaction open, and every dialog can be found again.

        The readers of the queues get the seconds they wait for more before they leave.
        """
        self.instance.advance(5)
        assert self.left() == {"locks": [], "held": [], "transactions": []}
        assert self.orphans() == []

    def orphans(self) -> list[tuple]:
        """Live dialogs of the initiator no sender and no reader would ever come back to."""
        if self.key in NEVER:
            return []
        return self.dba.rows(
            "SELECT ce.conversation_handle FROM sys.conversation_endpoints AS ce INNER JOIN "
            "sys.services AS s ON s.service_id = ce.service_id WHERE "
            "s.name = N'//redial/audit/initiator' AND ce.state IN ('SO', 'CO') "
            "AND NOT EXISTS (SELECT 1 FROM "
            "audit.SessionConversations AS sc WHERE sc.Handle = ce.conversation_handle) AND NOT "
            "EXISTS (SELECT 1 FROM audit.ConversationLog AS cl WHERE cl.Handle = "
            "ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL);"
        )


class Caller:
    """One session, step by step."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.session = stage.instance.login(USER, PASSWORD, "lab")
        self.session.sink = Collector()

    def starts(self, sql: str) -> Collector:
        """Send a batch and let everything run that can run."""
        out = self.session.sink = Collector()
        self.session.submit(Batch(sql))
        self.stage.instance.run()
        return out

    def loses_dialogs(self, sql: str, *handles: str) -> Collector:
        """The batch finds its dialog, and a DBA ends it WITH CLEANUP before SEND has it: 8426.

        handles: which are ended; every one of the initiator by default.
        """
        dba = Caller(self.stage)
        handles = handles or tuple(self.stage.dialogs())
        dba.does(
            "BEGIN TRANSACTION;"
            + "".join(f"BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 60;" for handle in handles)
        )
        out = self.starts(sql)
        assert self.stage.traits.per_message or self.waits_for() == "CONVERSATION_GROUP"
        dba.does(
            "".join(f"END CONVERSATION '{handle}' WITH CLEANUP;" for handle in handles) + "COMMIT;"
        )
        dba.leaves()
        return out

    @property
    def out(self) -> Collector:
        """What the last batch answered."""
        return self.session.sink

    @property
    def errors(self) -> list[int]:
        """Numbers of the last batch's errors."""
        return [message.number for message in self.out.messages if message.severity > 10]

    def does(self, sql: str) -> Collector:
        """The batch runs to its end without an error."""
        out = self.starts(sql)
        assert out.finished, f"waits: {sql}"
        assert self.errors == [], [m.text for m in out.messages]
        return out

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the batch's last result set."""
        return self.does(sql).result_sets[-1].rows

    def value(self, expression: str) -> Any:
        """One value."""
        return self.rows(f"SELECT {expression};")[0][0]

    def fails(self, sql: str, *numbers: int) -> str:
        """The batch ends with these errors; the text of the first."""
        out = self.starts(sql)
        assert out.finished, f"waits: {sql}"
        assert self.errors == list(numbers), [(m.number, m.text) for m in out.messages]
        return next(m.text for m in out.messages if m.severity > 10)

    def blocks(self, sql: str) -> None:
        """The batch starts and waits for a lock."""
        assert not self.starts(sql).finished, f"does not wait: {sql}"
        assert self.session.wait is not None and self.session.wait.kind == "lock"

    def waits_for(self) -> str:
        """The kind of resource the session waits for: KEY (a row), CONVERSATION_GROUP ..."""
        assert self.session.wait is not None
        return self.session.wait.resource.key[0]

    def has_ended(self, *numbers: int) -> None:
        """The batch that had to wait is over, with these errors."""
        assert self.out.finished
        assert self.errors == list(numbers), [(m.number, m.text) for m in self.out.messages]

    def cancels(self) -> None:
        """The client gives up waiting (attention)."""
        self.session.attention()
        self.stage.instance.run()

    def leaves(self) -> None:
        """The connection breaks."""
        self.session.close()
        self.stage.instance.run()

    def returns_to_the_pool(self) -> None:
        """The driver resets the connection before it hands it out again."""
        self.session.reset()
        self.stage.instance.run()

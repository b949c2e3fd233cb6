"""A fake instance for the wire's own tests: canned answers by statement, no T-SQL."""

from __future__ import annotations

import datetime
import re
import threading
from decimal import Decimal

from redial_broker.engine import types as t
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import Message, ResultColumn
from redial_broker.tds import constants as c
from redial_broker.tds.null import NullInstance, NullSession

ERRORS = {
    "duplicate": (2627, 14, "Violation of PRIMARY KEY constraint 'PK_t'."),
    "deadlock": (1205, 13, "Transaction (Process ID 51) was deadlocked."),
    "missing": (208, 16, "Invalid object name 'dbo.missing'."),
    "divide": (8134, 16, "Divide by zero error encountered."),
    "thrown": (51000, 16, "thrown"),
}

MOMENT = datetime.datetime(2024, 2, 29, 13, 14, 15, 123456)
EVERY_TYPE = [
    (t.TINYINT, 255),
    (t.SMALLINT, -2),
    (t.INT, -(2**31)),
    (t.BIGINT, 2**62),
    (t.BIT, 1),
    (t.FLOAT, 1.5),
    (t.REAL, -0.25),
    (t.decimal_type(38, 10), Decimal("-123.4500000000")),
    (t.sql_type("money"), Decimal("-1.2345")),
    (t.sql_type("smallmoney"), Decimal("2.5000")),
    (t.UNIQUEIDENTIFIER, "12345678-9ABC-DEF0-1234-56789ABCDEF0"),
    (t.nvarchar(20), "ünï\U0001f600"),
    (t.NVARCHAR_MAX, "x" * 9000),
    (t.varchar(10), "ü€"),
    (t.VARCHAR_MAX, ""),
    (t.sql_type("nchar", 4), "ab  "),
    (t.sql_type("char", 3), "abc"),
    (t.varbinary(20), b"\x01\x02"),
    (t.VARBINARY_MAX, b"\xff" * 70000),
    (t.sql_type("binary", 3), b"abc"),
    (t.ROWVERSION, b"\0\0\0\0\0\0\x07\xd1"),
    (t.DATE, MOMENT.date()),
    (t.TIME, MOMENT.time()),
    (t.DATETIME2, MOMENT),
    (t.DATETIME, MOMENT.replace(microsecond=123000)),
    (t.SMALLDATETIME, MOMENT.replace(second=0, microsecond=0)),
    (t.XML, "<a>ü</a>"),
    (t.sql_type("ntext"), "long text"),
    (t.sql_type("text"), "text"),
    (t.sql_type("image"), b"im"),
]


class FakeSession(NullSession):
    """Knows a few more statements than the null session."""

    def statement(self, text, params) -> bool:
        sink = self.sink
        if match := re.match(r"select @", text, re.I):
            sink.columns([ResultColumn(f"c{i}", p.type) for i, p in enumerate(params)])
            sink.row(tuple(p.value for p in params))
            sink.done(c.CMD_SELECT, 1)
        elif match := re.match(r"error (\w+)", text):
            number, severity, words = ERRORS[match[1]]
            sink.message(Message(number, severity, 1, words, "usp_x", 3))
            sink.done(c.CMD_SELECT, None, True)
        elif match := re.match(r"rows (\d+)(?: then (\w+))?", text):
            sink.columns([ResultColumn("n", t.INT, False), ResultColumn("s", t.nvarchar(40))])
            for n in range(int(match[1])):
                sink.row((n, f"row {n}"))
            sink.done(c.CMD_SELECT, int(match[1]))
            if match[2]:
                return self.statement(f"error {match[2]}", ())
        elif text == "every type":
            self._every_type()
        elif text.startswith("waitfor"):
            self.instance.waiting.set()
            return True
        elif text.startswith("print "):
            sink.message(Message(0, 0, 1, text[6:]))
            sink.done(0, None)
        elif text.startswith("insert"):
            sink.done(c.CMD_INSERT, 3)
        elif text == "abort":
            self.transactions = 0
            sink.env("rollback", None, self.id)
            raise SqlError(8134)
        elif text == "fatal":
            sink.message(Message(596, 21, 1, "killed"))
        elif text == "raise":
            raise ZeroDivisionError("a bug")
        elif text == "wrong value":
            sink.columns([ResultColumn("n", t.INT)])
            sink.row(("not an int",))
            sink.done(c.CMD_SELECT, 1)
        elif text.lower().startswith("declare @rc int"):
            sink.columns([ResultColumn("", t.INT)])
            sink.row((7,))
            sink.done(c.CMD_SELECT, 1)
        else:
            return super().statement(text, params)
        return False

    def _every_type(self) -> None:
        sink = self.sink
        sink.columns(
            [ResultColumn(f"{i}_{type_.name}", type_) for i, (type_, _) in enumerate(EVERY_TYPE)]
        )
        sink.row(tuple(value for _, value in EVERY_TYPE))
        sink.row((None,) * len(EVERY_TYPE))
        sink.done(c.CMD_SELECT, 2)

    def reset(self, keep_transaction) -> None:
        super().reset(keep_transaction)
        self.instance.resets += 1

    def procedure(self, name, params) -> None:
        if name == "usp_rows":
            self.statement("rows 2", ())
        if name == "usp_fail":
            raise SqlError(50000, text="from the procedure", severity=16)
        self.instance.calls.append((name, [p.value for p in params]))

    def _sp_describe_undeclared_parameters(self, params) -> None:
        raise SqlError(102, "?")


class FakeInstance(NullInstance):
    session_type = FakeSession

    def __init__(self) -> None:
        super().__init__()
        self.calls: list = []
        self.resets = 0
        self.waiting = threading.Event()

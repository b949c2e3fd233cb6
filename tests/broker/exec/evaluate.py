"""Evaluates one expression or condition as T-SQL text, for tests of the expression compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace

import pytest

from redial.tsql.ast import Source
from redial.tsql.parser.queries import QueryParser
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.meter import Meter
from redial_broker.exec.expressions import Scope, compile_condition, compile_expression
from redial_broker.exec.options import Options

NOW = datetime(2026, 11, 21, 13, 5, 9, 123456)


@dataclass
class FakeSession:
    """The attributes of a session that expressions may ask for."""

    id: int = 51
    rowcount: int = 3
    error: int = 0
    trancount: int = 1
    nest_level: int = 2
    proc_id: int = 77
    fetch_status: int = -1
    last_identity: object = 9
    scope_identity: object = 8
    context_info: bytes | None = None
    language: str = "us_english"
    lock_timeout: int = -1
    textsize: int = 4096
    version_text: str = "Redial embedded broker"
    server_name: str = "REDIAL"
    login_name: str = "alice"
    original_login: str = "bob"
    user_name: str = "dbo"
    host_name: str = "laptop"
    app_name: str = "tests"
    error_info: object = None
    options: Options = field(default_factory=Options)
    session_context: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    guids: int = 0
    engine: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(meter=Meter()))

    def now(self) -> datetime:
        return NOW

    def new_guid(self) -> str:
        self.guids += 1
        return f"00000000-0000-0000-0000-{self.guids:012X}"

    def xact_state(self) -> int:
        return 1

    def catalog_function(self, name: str, args: tuple) -> object:
        self.asked.append((name, args))
        return 4711


def scope_of(text, variables=None, **more):
    slots = {name: (slot, of) for slot, (name, (of, _)) in enumerate((variables or {}).items())}
    return Scope(variables=slots, source=Source(text), **more)


def compiled(text, variables=None, **more):
    """The Expr of a value's text; variables: name with @ -> (type, value)."""
    return compile_expression(
        QueryParser(Source(text)).expression(), scope_of(text, variables, **more)
    )


def value(text, variables=None, session=None, row=(), **more):
    """The value of an expression."""
    values = [item for _, item in (variables or {}).values()]
    return compiled(text, variables, **more).fn(session or FakeSession(), values, row)


def typed(text, variables=None):
    """The type of an expression, as declared."""
    return str(compiled(text, variables).type)


def holds(text, variables=None, session=None, row=(), **more):
    """True, False or None: the outcome of a condition."""
    node = QueryParser(Source(text)).condition()
    test = compile_condition(node, scope_of(text, variables, **more))
    return test(session or FakeSession(), [item for _, item in (variables or {}).values()], row)


def fails(text, variables=None, **more):
    """The error a value raises, at compile time or when run."""
    with pytest.raises(SqlError) as caught:
        value(text, variables, **more)
    assert not isinstance(caught.value, NotSupported), caught.value
    return caught.value


def refused(text, variables=None, **more):
    """The text of the refusal a value meets."""
    with pytest.raises(NotSupported) as caught:
        value(text, variables, **more)
    return caught.value.text


def fake_query(*rows, columns):
    """A compiled subquery that always has these rows."""
    return SimpleNamespace(
        rows=lambda s, v, r: list(rows), exists=lambda s, v, r: bool(rows), columns=list(columns)
    )

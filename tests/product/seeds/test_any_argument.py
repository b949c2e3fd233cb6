"""Built-in functions and system procedures with arguments they were not made for: an answer or an
error of the server's, never an exception that would end every running request.
"""

from __future__ import annotations

import random

import pytest

from redial_broker.exec.execute import DYNAMIC_PROCEDURES
from redial_broker.exec.functions import registry
from redial_broker.exec.objects import SYSTEM_PROCEDURES
from redial_broker.instance.instance import Instance

VALUES = (
    "NULL",
    "0",
    "-1",
    "2147483647",
    "N'x'",
    "''",
    "0x",
    "0x00FF",
    "1.5",
    "1e300",
    "NEWID()",
    "CONVERT(bigint, 9223372036854775807)",
    "CONVERT(bit, 1)",
    "CONVERT(money, -1)",
    "CONVERT(datetime2, '2026-01-01')",
    "CONVERT(date, '0001-01-01')",
    "CONVERT(time, '10:00')",
    "CONVERT(datetimeoffset, '2026-01-01 +14:00')",
    "CONVERT(xml, N'<a/>')",
    "CONVERT(sql_variant, 1)",
    "day",
    "int",
)
ARGUMENTS = (
    "",
    "NULL",
    "1",
    "-1",
    "N'x'",
    "0x01, NULL",
    "NULL, NULL, NULL",
    "1, 2, 3, 4",
    "N'x', N'y', N'z'",
    "@a = 1",
    "'a', '@p int', 'SELECT @p'",
    "N'', N'', N''",
)
FUNCTIONS = sorted(
    {
        name
        for table in vars(registry).values()
        if isinstance(table, dict)
        for name in table
        if isinstance(name, str) and name.isupper()
    }
)
PROCEDURES = sorted({*DYNAMIC_PROCEDURES, *SYSTEM_PROCEDURES})


@pytest.fixture(scope="module")
def session():
    instance = Instance(seed=3)
    instance.connect().execute("CREATE DATABASE db;").ok()
    return instance.connect("db")


def calls(name: str) -> list[str]:
    """No argument, every value alone, and some of two to four, the same ones every time."""
    draw = random.Random(name)
    found = [(), *((value,) for value in VALUES)]
    found += [tuple(draw.choices(VALUES, k=count)) for count in (2, 3, 4) for _ in range(8)]
    return [f"SELECT {name}({', '.join(arguments)});" for arguments in found]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("@@")])
def test_a_function_answers_or_raises_an_error_of_the_servers(session, name):
    for sql in calls(name):
        answer = session.execute(sql)
        assert answer.finished, sql
        assert answer.result_sets or answer.errors, sql


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_system_procedure_returns_or_raises_an_error_of_the_servers(session, name):
    for arguments in ARGUMENTS:
        other = session.instance.connect("db")
        assert other.execute(f"EXECUTE {name} {arguments};").finished, arguments
        other.close()

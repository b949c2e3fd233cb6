"""Who installs the same scripts in many instances may have CREATE believe what it has seen."""

from __future__ import annotations

import pytest

from redial_broker.exec.ddl import probing
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import Instance

PROCEDURE = "CREATE OR ALTER PROCEDURE dbo.p AS SELECT n FROM dbo.t;"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """Whatever other tests have left."""
    monkeypatch.setattr(probing, "_PROBED", set())


def with_column(name: str) -> Instance:
    instance = Instance(seed=1)
    instance.connect().execute(f"CREATE TABLE dbo.t ({name} int);").ok()
    return instance


def error(instance: Instance, sql: str) -> int:
    """Number of a batch's first error, 0 for none."""
    found = instance.connect().execute(sql).error()
    return found.number if found is not None else 0


def test_a_text_that_was_compiled_inside_is_believed_and_its_mistake_found_at_the_first_call():
    right, wrong = with_column("n"), with_column("m")
    with unprobed(right.server):
        assert error(right, PROCEDURE) == 0
    with unprobed(wrong.server):
        assert error(wrong, PROCEDURE) == 0
    assert error(wrong, "EXECUTE dbo.p;") == 207
    assert error(right, "EXECUTE dbo.p;") == 0


def test_a_text_that_was_refused_is_refused_again():
    wrong = with_column("m")
    with unprobed(wrong.server):
        assert [error(wrong, PROCEDURE), error(wrong, PROCEDURE)] == [207, 207]


def test_outside_nothing_is_believed_and_nothing_remembered():
    right, wrong = with_column("n"), with_column("m")
    assert error(right, PROCEDURE) == 0
    with unprobed(wrong.server):
        assert error(wrong, PROCEDURE) == 207
    with unprobed(right.server):
        assert error(right, PROCEDURE) == 0
    assert error(wrong, PROCEDURE) == 207


def test_what_is_remembered_has_a_bound(monkeypatch):
    monkeypatch.setattr(probing, "PROBED", 2)
    instance = with_column("n")
    for number in range(4):
        with unprobed(instance.server):
            assert error(instance, PROCEDURE.replace("dbo.p", f"dbo.p{number}")) == 0
            assert len(probing._PROBED) <= 3


FUNCTION = (
    "CREATE FUNCTION dbo.f() RETURNS @found TABLE (n int) AS "
    "BEGIN INSERT INTO @found SELECT n FROM dbo.t; RETURN; END;"
)
TRIGGER = "CREATE TRIGGER dbo.g ON dbo.u AFTER INSERT AS SELECT n FROM dbo.t;"


@pytest.mark.parametrize(
    ("text", "call"),
    [(FUNCTION, "SELECT n FROM dbo.f();"), (TRIGGER, "INSERT dbo.u (k) VALUES (1);")],
)
def test_functions_and_triggers_are_believed_as_procedures_are(text, call):
    right, wrong = with_column("n"), with_column("m")
    for instance in (right, wrong):
        instance.connect().execute("CREATE TABLE dbo.u (k int);").ok()
    with unprobed(right.server):
        assert error(right, text) == 0
    assert error(wrong, text) == 207
    with unprobed(wrong.server):
        assert error(wrong, text) == 0
    assert (error(right, call), error(wrong, call)) == (0, 207)

"""What queries and data changes do not support is refused by name and position."""

import pytest


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT * FROM person OPTION (USE PLAN N'<x/>')", "OPTION (USE PLAN)"),
        ("SELECT * FROM person OPTION (QUERYTRACEON 8649)", "QUERYTRACEON 8649"),
        ("SELECT * FROM person WITH (PAGLOCK)", "PAGLOCK"),
        ("SELECT * FROM srv.db.dbo.t", "a linked server"),
    ],
)
def test_it_is_named(lab, sql, construct):
    text = lab.refusal(sql)
    assert construct.lower() in text.lower() and "line 1, column" in text


def test_hints_without_any_effect_on_results_are_accepted(lab):
    assert lab.value("SELECT COUNT(*) FROM person OPTION (RECOMPILE, MAXDOP 1)") == 4

"""How arguments of EXECUTE and sp_executesql meet parameters.

Source: EXECUTE and sp_executesql pages, numbers of the errors-events pages; that surplus arguments
are counted before their names are looked at is known from captures others published.
"""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run("CREATE PROCEDURE p @a int, @b int = 3 AS SELECT @a * 10 + @b")
    made.run("CREATE PROCEDURE bare AS SELECT 1")
    return made


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("@a = 1, @a = 2", 8143),
        ("1, @a = 2", 8143),
        ("@b = 1, @B = 2", 8143),
        ("@a = 1, 2", 119),
        ("@c = 1", 8145),
        ("@a = 1, @b = 2, @c = 3", 8144),
        ("1, 2, 3", 8144),
        ("@b = 1", 201),
        ("", 201),
        ("DEFAULT", 201),
    ],
)
def test_a_procedures_parameters_are_named_once_and_known(lab, arguments, number):
    assert lab.error(f"EXEC p {arguments}") == number


def test_a_procedure_without_parameters_takes_no_argument(lab):
    assert lab.error("EXEC bare 1") == 8146
    assert lab.error("EXEC sp_executesql N'SELECT 1', N'', 1") == 8146


@pytest.mark.parametrize(
    "arguments",
    [
        "'SELECT 1'",
        "@statement = 'SELECT 1'",
        "1",
        "NULL",
        "@c",
        "@m",
        "@x",
        "@v",
        "@i",
        "N'SELECT @a', '@a int', 1",
        "N'SELECT @a', @params = '@a int', @a = 1",
        "N'SELECT 1', 5",
        "N'SELECT 1', NULL, 1",
    ],
)
def test_sp_executesql_takes_unicode_only(lab, arguments):
    declared = (
        "DECLARE @c char(20) = 'SELECT 1', @m varchar(max) = 'SELECT 1', @x xml = N'<a/>', "
        "@v sql_variant = N'SELECT 1', @i int = 1; "
    )
    assert lab.error(f"{declared}EXEC sp_executesql {arguments}") == 214


@pytest.mark.parametrize(
    "names",
    [("", ""), ("@stmt = ", "@params = "), ("@statement = ", "@parameters = "), ("@x = ", "@y = ")],
)
def test_its_first_two_are_bound_by_position_whatever_their_names(lab, names):
    statement, definitions = names
    sql = f"EXEC sp_executesql {statement}N'SELECT @a', {definitions}N'@a int', @a = 7"
    assert lab.value(sql) == 7


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("@a = 1, @a = 2", 8144),
        ("1, 2", 8144),
        ("@a = 1, @b = 2", 8144),
    ],
)
def test_values_beyond_its_definitions_are_too_many(lab, arguments, number):
    assert lab.error(f"EXEC sp_executesql N'SELECT @a', N'@a int', {arguments}") == number

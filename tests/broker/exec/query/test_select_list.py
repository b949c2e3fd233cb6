"""The select list: names, stars, variables."""

import pytest


def test_columns_are_named_by_alias_in_every_spelling_or_by_their_column(lab):
    sink = lab.run("SELECT 1 AS a, 2 b, c = 3, name, id + 1 FROM person WHERE id = 1")
    assert sink.result_sets[0].names == ["a", "b", "c", "name", ""]
    assert sink.result_sets[0].rows == [(1, 2, 3, "Ann", 2)]


def test_a_star_takes_the_columns_of_every_source_in_the_order_written(lab):
    sink = lab.run("SELECT * FROM team t JOIN person p ON p.team = t.id WHERE p.id = 3")
    assert sink.result_sets[0].names == ["id", "title", "id", "name", "team", "score"]
    assert sink.result_sets[0].rows == [(20, "green", 3, "Cid", 20, None)]


def test_a_qualified_star_takes_one_source(lab):
    assert lab.rows("SELECT t.* FROM person p JOIN team t ON t.id = p.team WHERE p.id = 1") == [
        (10, "red")
    ]


def test_metadata_says_which_columns_are_identity_and_nullable(lab):
    lab.run("CREATE TABLE i (n int IDENTITY, x int NULL)")
    columns = lab.run("SELECT n, x, n + 1 AS y FROM i").result_sets[0].columns
    assert [c.identity for c in columns] == [True, False, False]
    assert [c.nullable for c in columns] == [False, True, True]


def test_select_without_from_gives_one_row(lab):
    assert lab.rows("SELECT 1, 'x' WHERE 1 = 1") == [(1, "x")]
    assert lab.rows("SELECT 1 WHERE 1 = 0") == []


def test_assignment_takes_the_last_row_and_counts_all(lab):
    sql = "DECLARE @n nvarchar(20); SELECT @n = name FROM person ORDER BY id; SELECT @n, @@ROWCOUNT"
    assert lab.rows(sql) == [("Dee", 4)]


def test_assignment_without_a_row_leaves_the_variable_alone(lab):
    assert lab.value("DECLARE @n int = 7; SELECT @n = id FROM person WHERE id = 99; SELECT @n") == 7


def test_compound_assignment_accumulates_over_rows(lab):
    assert (
        lab.value("DECLARE @n varchar(50) = ''; SELECT @n += name + ',' FROM person; SELECT @n")
        == "Ann,Bob,Cid,Dee,"
    )


def test_assignment_converts_and_cuts_to_the_variable(lab):
    assert (
        lab.value("DECLARE @n varchar(2); SELECT @n = name FROM person WHERE id = 1; SELECT @n")
        == "An"
    )


def test_two_assignments_see_each_other_in_order(lab):
    assert lab.rows(
        "DECLARE @a int = 1, @b int; SELECT @a = id, @b = @a + 1 FROM person "
        "WHERE id = 4; SELECT @a, @b"
    ) == [(4, 5)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT nothing FROM person", 207),
        ("SELECT p.id FROM person", 4104),
        ("SELECT id FROM person, team", 209),
        ("SELECT * FROM nothing", 208),
        ("SELECT x.* FROM person", 107),
        ("SELECT *", 263),
        ("DECLARE @a int; SELECT @a = 1, 2", 141),
        ("SELECT 1 FROM person, person", 1013),
        ("SELECT 1 FROM person a, team a", 1011),
    ],
)
def test_a_wrong_name_is_an_error(lab, sql, number):
    assert lab.error(sql) == number

"""Cursors and cursor variables."""

import pytest

from tests.broker.exec.lab import Lab

LOOP = (
    "DECLARE @n int, @s varchar(50) = ''; OPEN {0}; FETCH NEXT FROM {0} INTO @n; "
    "WHILE @@FETCH_STATUS = 0 BEGIN SET @s += CAST(@n AS varchar(9)); "
    "FETCH NEXT FROM {0} INTO @n END; CLOSE {0}; DEALLOCATE {0}; SELECT @s"
)


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int PRIMARY KEY, a varchar(5)); "
        "INSERT t VALUES (1, 'x'), (2, 'y'), (3, 'z')"
    )
    return made


@pytest.mark.parametrize(
    "options",
    [
        "",
        "LOCAL FAST_FORWARD",
        "LOCAL STATIC READ_ONLY",
        "GLOBAL FORWARD_ONLY",
        "SCROLL KEYSET",
    ],
)
def test_the_usual_loop_reads_every_row(lab, options):
    assert (
        lab.value(f"DECLARE c CURSOR {options} FOR SELECT k FROM t ORDER BY k; " + LOOP.format("c"))
        == "123"
    )


def test_a_cursor_variable_does_the_same(lab):
    assert (
        lab.value(
            "DECLARE @c CURSOR; SET @c = CURSOR LOCAL FOR SELECT k FROM t; " + LOOP.format("@c")
        )
        == "123"
    )


def test_fetch_moves_in_every_direction(lab):
    lab.run("DECLARE c CURSOR GLOBAL SCROLL STATIC FOR SELECT k FROM t; OPEN c")
    moves = [
        ("LAST", 3),
        ("PRIOR", 2),
        ("FIRST", 1),
        ("ABSOLUTE 2", 2),
        ("RELATIVE 1", 3),
        ("ABSOLUTE -3", 1),
    ]
    for orientation, expected in moves:
        assert lab.rows(f"FETCH {orientation} FROM c") == [(expected,)]
    assert lab.rows("FETCH PRIOR FROM c") == []
    assert lab.value("SELECT @@FETCH_STATUS") == -1


def test_variables_have_their_values_of_the_declaration(lab):
    assert (
        lab.value(
            "DECLARE @k int = 2; DECLARE c CURSOR LOCAL FOR SELECT k FROM t "
            "WHERE k >= @k; SET @k = 3; " + LOOP.format("c")
        )
        == "23"
    )


def test_a_static_cursor_does_not_see_what_changes_after_open(lab):
    assert lab.rows(
        "DECLARE c CURSOR LOCAL STATIC FOR SELECT a FROM t; OPEN c; DELETE t; FETCH NEXT FROM c"
    ) == [("x",)]


def test_fetch_leaves_the_variables_alone_behind_the_last_row(lab):
    assert lab.rows(
        "DECLARE @a varchar(5) = 'q'; DECLARE c CURSOR LOCAL FOR SELECT a FROM t "
        "WHERE k = 9; OPEN c; FETCH NEXT FROM c INTO @a; SELECT @a, @@FETCH_STATUS"
    ) == [("q", -1)]


def test_a_local_cursor_ends_with_its_batch_and_a_global_one_does_not(lab):
    lab.run(
        "DECLARE l CURSOR LOCAL FOR SELECT k FROM t; DECLARE g CURSOR GLOBAL FOR SELECT k FROM t"
    )
    assert lab.error("OPEN l") == 16916
    lab.run("OPEN g; CLOSE g; DEALLOCATE g")


def test_a_procedure_has_its_own_local_cursor(lab):
    lab.run(
        "CREATE PROCEDURE p AS DECLARE @n int; DECLARE c CURSOR LOCAL FOR SELECT k FROM t "
        "WHERE k = 3; OPEN c; FETCH NEXT FROM c INTO @n; SELECT @n"
    )
    assert lab.run(
        "DECLARE c CURSOR LOCAL FOR SELECT k FROM t; OPEN c; EXEC p; FETCH NEXT FROM c"
    ).result_sets[1].rows == [(1,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("OPEN c", 16916),
        ("DECLARE c CURSOR LOCAL FOR SELECT 1; DECLARE c CURSOR LOCAL FOR SELECT 1", 16915),
        ("DECLARE c CURSOR LOCAL FOR SELECT 1; OPEN c; OPEN c", 16905),
        ("DECLARE c CURSOR LOCAL FOR SELECT 1; FETCH c", 16917),
        ("DECLARE c CURSOR LOCAL FOR SELECT 1; CLOSE c", 16917),
        ("DECLARE c CURSOR LOCAL FOR SELECT 1; OPEN c; FETCH PRIOR FROM c", 16911),
        (
            "DECLARE c CURSOR LOCAL DYNAMIC FOR SELECT k FROM t; OPEN c; FETCH ABSOLUTE 1 FROM c",
            16925,
        ),
        (
            "DECLARE @a int, @b int; DECLARE c CURSOR LOCAL FOR SELECT 1; OPEN c; "
            "FETCH NEXT FROM c INTO @a, @b",
            16924,
        ),
        ("DECLARE @c CURSOR; OPEN @c", 16950),
    ],
)
def test_a_wrong_use_is_an_error(lab, sql, number):
    assert lab.error(sql) == number

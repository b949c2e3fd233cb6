"""Names, variables and parameters that refer to cursors; CURSOR_STATUS."""

import pytest

from tests.broker.exec.lab import Lab

OPEN_ONE = (
    "CREATE PROCEDURE give @c CURSOR VARYING OUTPUT AS BEGIN "
    "SET @c = CURSOR LOCAL STATIC FOR SELECT k FROM t ORDER BY k; OPEN @c END"
)


@pytest.fixture
def lab():
    made = Lab()
    made.run("CREATE TABLE t (k int NOT NULL PRIMARY KEY); INSERT t VALUES (1), (2)")
    return made


def test_a_variable_may_refer_to_a_cursor_by_name(lab):
    assert lab.rows(
        "DECLARE n CURSOR LOCAL STATIC FOR SELECT k FROM t; DECLARE @c CURSOR; "
        "SET @c = n; OPEN @c; FETCH n; FETCH @c"
    ) == [(2,)]


def test_the_cursor_lives_until_its_last_reference_is_gone(lab):
    assert lab.rows(
        "DECLARE n CURSOR LOCAL STATIC FOR SELECT k FROM t; DECLARE @c CURSOR, "
        "@d CURSOR; SET @c = n; SET @d = @c; OPEN n; DEALLOCATE n; DEALLOCATE @c; "
        "DECLARE n CURSOR LOCAL FOR SELECT 7; OPEN n; FETCH @d"
    ) == [(1,)]
    assert lab.session.cursors.keys() <= {"@@"}


def test_a_procedure_hands_an_open_cursor_to_its_caller(lab):
    lab.run(OPEN_ONE)
    assert lab.rows(
        "DECLARE @mine CURSOR, @k int, @s int = 0; EXEC give @c = @mine OUTPUT; "
        "FETCH @mine INTO @k; WHILE @@FETCH_STATUS = 0 BEGIN SET @s += @k; "
        "FETCH @mine INTO @k END; SELECT @s, CURSOR_STATUS('variable', '@mine')"
    ) == [(3, 1)]


def test_a_closed_cursor_is_not_handed_over(lab):
    lab.run("CREATE PROCEDURE give @c CURSOR VARYING OUTPUT AS SET @c = CURSOR FOR SELECT k FROM t")
    assert (
        lab.value(
            "DECLARE @mine CURSOR; EXEC give @mine OUTPUT; "
            "SELECT CURSOR_STATUS('variable', '@mine')"
        )
        == -2
    )


def test_a_variable_that_has_a_cursor_is_no_argument(lab):
    lab.run(OPEN_ONE)
    assert (
        lab.error("DECLARE @c CURSOR; SET @c = CURSOR FOR SELECT 1; EXEC give @c OUTPUT") == 16951
    )


def test_local_comes_before_global_and_global_may_be_asked_for(lab):
    lab.run("DECLARE c CURSOR GLOBAL STATIC FOR SELECT 1; OPEN c")
    assert lab.rows("DECLARE c CURSOR LOCAL STATIC FOR SELECT 2; OPEN c; FETCH c") == [(2,)]
    assert lab.rows("DECLARE c CURSOR LOCAL STATIC FOR SELECT 2; FETCH GLOBAL c") == [(1,)]


def test_cursor_status_over_its_life(lab):
    status = "SELECT CURSOR_STATUS('global', 'c')"
    assert lab.value(status) == -3
    lab.run("DECLARE c CURSOR STATIC FOR SELECT k FROM t")
    assert lab.value(status) == -1
    lab.run("OPEN c")
    assert lab.value(status) == 1
    assert lab.value("SELECT CURSOR_STATUS('local', 'c')") == -3
    lab.run("CLOSE c; DELETE t; OPEN c")
    assert lab.value(status) == 0
    lab.run("DEALLOCATE c; DECLARE c CURSOR DYNAMIC FOR SELECT k FROM t; OPEN c")
    assert lab.value(status) == 1
    assert lab.rows(
        "DECLARE @c CURSOR; SELECT CURSOR_STATUS('variable', '@c'), "
        "CURSOR_STATUS('variable', '@nope')"
    ) == [(-2, -3)]


def test_a_rewind_puts_cursors_back(lab):
    lab.run("DECLARE c CURSOR STATIC FOR SELECT k FROM t; OPEN c; FETCH c")
    memento = lab.session.memento()
    lab.run("FETCH c; CLOSE c; DEALLOCATE c")
    lab.session.restore(memento)
    assert lab.rows("FETCH c") == [(2,)]


def test_where_a_cursor_stands_is_part_of_the_state(lab):
    lab.run("DECLARE c CURSOR STATIC FOR SELECT k FROM t; OPEN c; FETCH c")
    before = repr(lab.session.content())
    lab.run("FETCH c")
    after = repr(lab.session.content())
    lab.run("FETCH FIRST FROM c")
    assert after != before == repr(lab.session.content())


def test_old_and_new_options_do_not_mix(lab):
    assert lab.error("DECLARE c INSENSITIVE CURSOR LOCAL FOR SELECT k FROM t") == 1049
    assert lab.error("DECLARE c SCROLL CURSOR STATIC FOR SELECT k FROM t") == 1049

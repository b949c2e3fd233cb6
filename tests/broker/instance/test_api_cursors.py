"""Server cursors as drivers drive them: sp_cursoropen, sp_cursorfetch and their kin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.engine.types import INT, NVARCHAR_MAX
from redial_broker.exec.cursor_plans import Row
from redial_broker.instance import api_cursors as a
from redial_broker.instance.requests import Rpc, RpcParam

from .conftest import numbers, texts

READ_ONLY_OR_DIRECT = 0x2001


def number(value, *, output=False):
    return RpcParam("", INT, value, output)


def text(value):
    return RpcParam("", NVARCHAR_MAX, value)


OUT = number(0, output=True)


def call(session, name, *params):
    session.sink.clear()
    session.submit(Rpc(name, list(params)))
    session.instance.run()
    return session.sink


def outputs(collector):
    return [value for _, _, _, value in collector.ok().return_values]


@pytest.fixture
def table(session):
    session.execute(
        "CREATE TABLE dbo.t (id int PRIMARY KEY); INSERT dbo.t VALUES (1),(2),(3),(4),(5)"
    ).ok()
    return session


def opened(session, kind, query="SELECT id FROM dbo.t ORDER BY id", concurrency=1):
    return outputs(
        call(session, "sp_cursoropen", OUT, text(query), number(kind), number(concurrency), OUT)
    )


def fetch(session, cursor, kind=a.NEXT, row=0, count=2):
    found = call(
        session, "sp_cursorfetch", number(cursor), number(kind), number(row), number(count)
    ).ok()
    return [values[0] for values in found.rows()], found.status


def test_a_static_cursor_scrolls_both_ways(table):
    cursor, count = opened(table, a.STATIC)
    assert count == 5
    assert [fetch(table, cursor)[0] for _ in range(4)] == [[1, 2], [3, 4], [5], []]
    assert fetch(table, cursor, a.PREV) == ([4, 5], 0)
    assert fetch(table, cursor, a.PREV, count=9) == ([1, 2, 3, 4, 5], 2)
    assert fetch(table, cursor, a.LAST) == ([4, 5], 0)
    assert fetch(table, cursor, a.RELATIVE, row=-2) == ([2, 3], 0)
    assert fetch(table, cursor, a.ABSOLUTE, row=-1) == ([5], 0)
    assert fetch(table, cursor, a.FIRST, count=0) == ([], 0)
    assert fetch(table, cursor) == ([1, 2], 0)
    info = call(table, "sp_cursorfetch", number(cursor), number(a.INFO), OUT, OUT)
    assert outputs(info) == [1, 5]


def test_every_row_carries_the_hidden_status_column(table):
    cursor, _ = opened(table, a.STATIC)
    found = call(table, "sp_cursorfetch", number(cursor), number(a.NEXT), number(0), number(1))
    assert found.result_sets[0].names == ["id", "ROWSTAT"]
    assert found.rows() == [(1, 1)]


def test_a_forward_only_cursor_moves_forwards_only(table):
    cursor, count = opened(table, a.FAST_FORWARD)
    assert count == -1
    assert fetch(table, cursor, count=5) == ([1, 2, 3, 4, 5], 0)
    back = call(table, "sp_cursorfetch", number(cursor), number(a.PREV), number(0), number(1))
    assert numbers(back) == [16911]


def test_a_static_cursor_keeps_the_rows_it_was_opened_on(table):
    cursor, _ = opened(table, a.STATIC)
    table.execute("DELETE dbo.t").ok()
    assert fetch(table, cursor, count=9)[0] == [1, 2, 3, 4, 5]


def test_a_keyset_cursor_reads_its_rows_anew_and_marks_those_that_are_gone(table):
    table.execute("ALTER TABLE dbo.t ADD v int NULL").ok()
    cursor, count = opened(table, a.KEYSET, "SELECT id, v FROM dbo.t")
    table.execute(
        "UPDATE dbo.t SET v = id * 10; DELETE dbo.t WHERE id = 2; INSERT dbo.t VALUES (9, 9)"
    ).ok()
    found = call(table, "sp_cursorfetch", number(cursor), number(a.NEXT), number(0), number(9))
    assert count == 5
    assert found.rows() == [(1, 10, 1), (None, None, 2), (3, 30, 1), (4, 40, 1), (5, 50, 1)]
    found = call(table, "sp_cursorfetch", number(cursor), number(a.ABSOLUTE), number(3), number(1))
    assert found.rows() == [(3, 30, 1)]


def test_a_keyset_without_keys_becomes_static_and_the_client_is_told(table):
    found = call(
        table,
        "sp_cursoropen",
        OUT,
        text("SELECT COUNT(*) FROM dbo.t"),
        number(a.KEYSET, output=True),
        number(1),
        OUT,
    )
    assert outputs(found)[1:] == [a.STATIC, 1]


def test_a_fetch_waits_for_a_changed_row_and_then_moves_once(table):
    cursor, _ = opened(table, a.KEYSET)
    other = table.instance.connect("db")
    other.execute("BEGIN TRANSACTION; DELETE dbo.t WHERE id = 1").ok()
    waiting = call(table, "sp_cursorfetch", number(cursor), number(a.NEXT), number(0), number(2))
    assert not waiting.finished
    other.execute("ROLLBACK").ok()
    assert waiting.rows() == [(1, 1), (2, 1)]
    assert table.trancount == 0
    assert fetch(table, cursor)[0] == [3, 4]


def test_a_closed_or_unknown_cursor_is_16909(table):
    cursor, _ = opened(table, a.STATIC)
    call(table, "sp_cursorclose", number(cursor)).ok()
    for name in ("sp_cursorfetch", "sp_cursorclose", "sp_cursoroption", "sp_cursor"):
        assert numbers(call(table, name, number(cursor), number(4), OUT)) == [16909]


def test_a_statement_that_gives_no_cursor_runs_directly_where_the_client_allows_it(table):
    query = "UPDATE dbo.t SET id = id + 10 WHERE id = 5; SELECT 7"
    found = call(
        table, "sp_cursoropen", OUT, text(query), number(a.STATIC), number(READ_ONLY_OR_DIRECT), OUT
    )
    assert outputs(found) == [0, 0]
    assert (found.one(), [m.number for m in found.infos]) == (7, [16954])
    assert texts(found) == ["Executing SQL directly; no cursor."]
    refused = call(table, "sp_cursoropen", OUT, text(query), number(a.STATIC), number(1), OUT)
    assert numbers(refused) == [16937]


def test_a_prepared_cursor_is_opened_again_with_other_values(table):
    query = "SELECT id FROM dbo.t WHERE id > @P0 ORDER BY id"
    handle, cursor, _ = outputs(
        call(
            table,
            "sp_cursorprepexec",
            OUT,
            OUT,
            text("@P0 int"),
            text(query),
            number(a.STATIC | 0x1000),
            number(1),
            OUT,
            number(3),
        )
    )
    assert fetch(table, cursor, count=9)[0] == [4, 5]
    second, _ = outputs(
        call(
            table,
            "sp_cursorexecute",
            number(handle),
            OUT,
            number(a.STATIC),
            number(1),
            OUT,
            number(4),
        )
    )
    assert fetch(table, second, count=9)[0] == [5]
    assert fetch(table, cursor, a.FIRST, count=9)[0] == [4, 5]
    call(table, "sp_cursorunprepare", number(handle)).ok()
    gone = call(table, "sp_cursorexecute", number(handle), OUT, number(a.STATIC), number(1), OUT)
    assert numbers(gone) == [8179]


def test_cursorprepare_reports_syntax_errors_and_gives_a_handle(table):
    broken = call(table, "sp_cursorprepare", OUT, text(""), text("SELECT 1 +"), number(1))
    assert numbers(broken) == [102]
    (handle,) = outputs(
        call(table, "sp_cursorprepare", OUT, text(""), text("SELECT id FROM dbo.t"), number(1))
    )
    cursor, _ = outputs(
        call(table, "sp_cursorexecute", number(handle), OUT, number(a.STATIC), number(1), OUT)
    )
    assert len(fetch(table, cursor, count=9)[0]) == 5


def test_a_parameterised_open_takes_its_definitions_and_values_last(table):
    cursor, _ = outputs(
        call(
            table,
            "sp_cursoropen",
            OUT,
            text("SELECT id FROM dbo.t WHERE id = @v"),
            number(a.STATIC | 0x1000),
            number(1),
            OUT,
            text("@v int"),
            number(3),
        )
    )
    assert fetch(table, cursor)[0] == [3]


def test_auto_fetch_returns_the_first_buffer_with_the_open(table):
    found = call(
        table,
        "sp_cursoropen",
        OUT,
        text("SELECT id FROM dbo.t ORDER BY id"),
        number(a.STATIC | 0x2000),
        number(1),
        number(2, output=True),
    )
    assert [row[0] for row in found.ok().rows()] == [1, 2]
    assert fetch(table, outputs(found)[0])[0] == [3, 4]


@pytest.mark.parametrize(
    ("kind", "concurrency", "named"),
    [
        (a.KEYSET, 4, "OPTIMISTIC"),
        (a.DYNAMIC, 1, "DYNAMIC"),
        (a.STATIC, 4, "OPTIMISTIC"),
        (a.STATIC, 2, "SCROLL_LOCKS"),
        (a.STATIC | 0x4000, 1, "AUTO_CLOSE"),
    ],
)
def test_other_kinds_are_refused_by_name(table, kind, concurrency, named):
    refused = call(
        table,
        "sp_cursoropen",
        OUT,
        text("SELECT id FROM dbo.t"),
        number(kind),
        number(concurrency),
        OUT,
    )
    assert numbers(refused) == [60001]
    assert named in refused.errors[0].text


def test_a_client_that_accepts_another_kind_gets_and_is_told_it(table):
    kind = a.DYNAMIC | 0x8000 | 0x80000
    found = call(
        table,
        "sp_cursoropen",
        OUT,
        text("SELECT id FROM dbo.t"),
        number(kind, output=True),
        number(0x4 | 0x8000 | 0x10000, output=True),
        OUT,
    )
    cursor, scroll, concurrency, count = outputs(found)
    assert (scroll, concurrency, count) == (a.STATIC, a.READ_ONLY, 5)
    assert outputs(call(table, "sp_cursoroption", number(cursor), number(4), OUT)) == [a.STATIC]
    assert outputs(call(table, "sp_cursoroption", number(cursor), number(6), OUT)) == [5]


def test_positioned_changes_find_a_read_only_cursor(table):
    cursor, _ = opened(table, a.STATIC)
    assert numbers(call(table, "sp_cursor", number(cursor), number(4), number(1))) == [16929]


def test_a_reset_connection_has_no_cursors(table):
    cursor, _ = opened(table, a.STATIC)
    table.reset()
    assert numbers(call(table, "sp_cursorfetch", number(cursor))) == [16909]


def test_opening_waits_for_locks_and_then_opens_once(table):
    other = table.instance.connect("db")
    other.execute("BEGIN TRANSACTION; UPDATE dbo.t SET id = 6 WHERE id = 5").ok()
    waiting = call(
        table,
        "sp_cursoropen",
        OUT,
        text("SELECT id FROM dbo.t ORDER BY id"),
        number(a.STATIC),
        number(1),
        OUT,
    )
    assert not waiting.finished
    other.execute("COMMIT").ok()
    cursor, count = outputs(waiting)
    assert (count, len(table.api_cursors)) == (5, 1)
    assert fetch(table, cursor, count=9)[0] == [1, 2, 3, 4, 6]


moves = st.tuples(
    st.sampled_from(
        [a.FIRST, a.NEXT, a.PREV, a.LAST, a.ABSOLUTE, a.RELATIVE, a.REFRESH, a.PREV_NOADJUST]
    ),
    st.integers(-8, 8),
    st.integers(0, 8),
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 6), st.lists(moves, max_size=12))
def test_no_sequence_of_moves_leaves_the_rows(size, sequence):
    cursor = a.ApiCursor((), tuple(Row((n,)) for n in range(size)), a.STATIC)
    for fetch_, row, count in sequence:
        cursor, status = a._moved(cursor, fetch_, row, count)
        assert 1 <= cursor.start <= size + 1
        assert len(a._in_buffer(cursor)) == cursor.size <= max(count, cursor.size)
        assert status in {0, 2}
        if status == 2:
            assert cursor.start == 1

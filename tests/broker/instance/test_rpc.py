"""Remote procedure calls and prepared statements, as drivers send them."""

from __future__ import annotations

import pytest

from redial_broker.engine.types import INT, NVARCHAR_MAX, nvarchar
from redial_broker.instance.requests import Rpc, RpcBatch, RpcParam, TransactionRequest

from .conftest import numbers, texts


def text(value: str) -> RpcParam:
    return RpcParam("", NVARCHAR_MAX, value)


def number(value, *, output: bool = False) -> RpcParam:
    return RpcParam("", INT, value, output)


def call(session, request):
    session.sink.clear()
    session.submit(request)
    session.instance.run()
    return session.sink


def test_a_procedure_called_by_name_answers_status_and_output_values(session):
    session.execute(
        "CREATE PROCEDURE dbo.p @a int, @b int OUTPUT AS SET @b = @a + 1; RETURN 9"
    ).ok()
    collector = call(session, Rpc("dbo.p", [number(4), number(None, output=True)]))
    assert collector.status == 9
    assert collector.return_values == [(1, "", INT, 5)]
    assert collector.proc_dones == [False]
    assert collector.finished


def test_prepexec_returns_a_handle_that_execute_and_unprepare_understand(session):
    first = call(
        session,
        Rpc(
            "sp_prepexec",
            [number(None, output=True), text("@P1 int"), text("PRINT @P1"), number(1)],
        ),
    )
    assert texts(first.ok()) == ["1"]
    handle = first.return_values[0][3]
    assert texts(call(session, Rpc("sp_execute", [number(handle), number(2)])).ok()) == ["2"]
    call(session, Rpc("sp_unprepare", [number(handle)])).ok()
    assert numbers(call(session, Rpc("sp_execute", [number(handle), number(3)]))) == [8179]


def test_preparing_again_on_a_cursor_drops_the_old_handle(session):
    params = [number(None, output=True), text("@P1 int"), text("PRINT @P1"), number(1)]
    first = call(session, Rpc("sp_prepexec", params)).return_values[0][3]
    again = [number(first, output=True), *params[1:]]
    second = call(session, Rpc("sp_prepexec", again)).return_values[0][3]
    assert second != first
    assert list(session.prepared) == [second]


def test_prepexecrpc_calls_a_procedure_and_its_handle_calls_it_again(session):
    session.execute("CREATE PROCEDURE dbo.p @a int AS PRINT @a").ok()
    first = call(
        session, Rpc("sp_prepexecrpc", [number(None, output=True), text("dbo.p"), number(1)])
    )
    assert texts(first.ok()) == ["1"]
    handle = first.return_values[0][3]
    assert texts(call(session, Rpc("sp_execute", [number(handle), number(2)])).ok()) == ["2"]


def test_several_calls_in_one_message_each_end_by_themselves(session):
    handle = call(
        session,
        Rpc(
            "sp_prepare", [number(None, output=True), text("@P1 int"), text("PRINT @P1"), number(1)]
        ),
    ).return_values[0][3]
    collector = call(
        session, RpcBatch([Rpc("sp_execute", [number(handle), number(n)]) for n in (1, 2, 3)])
    )
    assert texts(collector.ok()) == ["1", "2", "3"]
    assert collector.proc_dones == [False] * 3


def test_an_error_in_one_call_does_not_stop_the_next(session):
    collector = call(
        session, RpcBatch([Rpc("dbo.missing"), Rpc("sp_executesql", [text("PRINT 1")])])
    )
    assert numbers(collector) == [2812]
    assert texts(collector)[-1] == "1"
    assert len(collector.proc_dones) == 2


def test_a_syntax_error_in_prepared_text_belongs_to_the_call(session):
    collector = call(session, Rpc("sp_executesql", [text("SELECT FROM")]))
    assert collector.errors
    assert collector.finished


@pytest.mark.parametrize("name", ["sp_cursoropen", "sp_cursorfetch", "sp_prepare"])
def test_a_call_without_its_arguments_names_the_first_one_missing(session, name):
    [error] = call(session, Rpc(name)).errors
    assert (error.number, name in error.text) == (201, True)


def test_the_wires_own_transaction_requests_count_like_statements(session):
    call(session, TransactionRequest("begin")).ok()
    assert session.trancount == 1
    collector = call(session, TransactionRequest("commit", begin_after=True)).ok()
    assert [kind for kind, _, _ in collector.environment] == ["commit", "begin"]
    call(session, TransactionRequest("rollback")).ok()
    assert session.trancount == 0
    assert numbers(call(session, TransactionRequest("commit"))) == [3902]


def test_a_string_parameter_is_converted_to_the_procedures_type(session):
    session.execute("CREATE PROCEDURE dbo.p @a int AS PRINT @a + 1").ok()
    collector = call(session, Rpc("dbo.p", [RpcParam("@a", nvarchar(10), "41")]))
    assert texts(collector.ok()) == ["42"]

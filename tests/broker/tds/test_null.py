"""The do-nothing instance of the benchmark answers the same session protocol as the real one."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, NVARCHAR_MAX
from redial_broker.instance.requests import Batch, Rpc, RpcBatch, RpcParam, TransactionRequest
from redial_broker.instance.results import Collector
from redial_broker.tds import constants as c
from redial_broker.tds.null import PASSWORD, NullInstance


@pytest.fixture
def session():
    opened = NullInstance().login("sa", PASSWORD)
    opened.sink = Collector()
    return opened


def ask(session, request):
    session.sink.clear()
    session.submit(request)
    session.instance.pump()
    assert session.sink.finished
    return session.sink


def handle(value=None):
    return RpcParam("", INT, value, output=True)


def text(value):
    return RpcParam("", NVARCHAR_MAX, value)


def test_a_selected_number_is_returned(session):
    assert ask(session, Batch("SELECT 1 AS a;")).one() == 1


def test_any_procedure_returns_status_0_and_its_outputs_unchanged(session):
    answer = ask(session, Rpc("dbo.anything", [RpcParam("@o", INT, 5, output=True)]))
    assert (answer.status, answer.value("@o"), answer.proc_dones) == (0, 5, [False])


def test_each_call_of_a_batch_is_answered(session):
    assert ask(session, RpcBatch([Rpc("p"), Rpc("q")])).statuses == [0, 0]


def test_a_prepared_statement_gets_a_handle_that_can_be_executed(session):
    first = ask(session, Rpc("sp_prepexec", [handle(), text(""), text("select 7")]))
    assert first.return_values[0][3] == 1
    answer = ask(session, Rpc("sp_execute", [RpcParam("", INT, 1)]))
    assert answer.one() == 7


def test_preparing_again_drops_the_old_handle(session):
    ask(session, Rpc("sp_prepexec", [handle(), text(""), text("select 7")]))
    ask(session, Rpc("sp_prepexec", [handle(1), text(""), text("select 8")]))
    assert ask(session, Rpc("sp_execute", [RpcParam("", INT, 1)])).error().number == 8179
    assert ask(session, Rpc("sp_execute", [RpcParam("", INT, 2)])).one() == 8


def test_transactions_are_counted_and_announced(session):
    ask(session, TransactionRequest("begin"))
    answer = ask(session, TransactionRequest("commit", begin_after=True))
    assert [kind for kind, _, _ in answer.environment] == ["commit", "begin"]
    assert ask(session, Batch("ROLLBACK TRAN")).dones[0].command == c.CMD_ROLLBACK
    assert ask(session, Batch("COMMIT")).error().number == 3902


def test_what_it_does_not_know_is_refused_by_name(session):
    assert "CREATE TABLE" in ask(session, Batch("CREATE TABLE t (a int)")).error().text


def test_a_wrong_password_is_refused():
    with pytest.raises(SqlError) as caught:
        NullInstance().login("sa", "wrong")
    assert caught.value.number == 18456

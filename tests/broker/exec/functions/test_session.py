"""Session functions, @@ globals and questions to the catalog."""

from types import SimpleNamespace

import pytest

from redial_broker.engine.types import INT, SQL_VARIANT, Variant, nvarchar
from redial_broker.exec.functions import SYSTEM_SCALARS
from redial_broker.exec.functions.catalog import CATALOG_FUNCTIONS

from ..evaluate import FakeSession, compiled, fails, refused, typed, value


@pytest.mark.parametrize(
    ("text", "expected", "of"),
    [
        ("@@ROWCOUNT", 3, "int"),
        ("@@error", 0, "int"),
        ("@@trancount", 1, "int"),
        ("@@SPID", 51, "smallint"),
        ("@@NESTLEVEL", 2, "int"),
        ("@@PROCID", 77, "int"),
        ("@@FETCH_STATUS", -1, "int"),
        ("@@IDENTITY", 9, "numeric(38,0)"),
        ("@@LOCK_TIMEOUT", -1, "int"),
        ("@@LANGUAGE", "us_english", "nvarchar(128)"),
        ("@@DATEFIRST", 7, "tinyint"),
        ("@@TEXTSIZE", 4096, "int"),
        ("@@MAX_PRECISION", 38, "tinyint"),
        ("@@SERVERNAME", "REDIAL", "nvarchar(128)"),
        ("@@VERSION", "Redial embedded broker", "nvarchar(300)"),
        ("xact_state()", 1, "smallint"),
        ("scope_identity()", 8, "numeric(38,0)"),
        ("suser_sname()", "alice", "nvarchar(128)"),
        ("original_login()", "bob", "nvarchar(128)"),
        ("system_user", "alice", "nvarchar(128)"),
        ("current_user", "dbo", "nvarchar(128)"),
        ("session_user", "dbo", "nvarchar(128)"),
        ("user_name()", "dbo", "nvarchar(128)"),
        ("host_name()", "laptop", "nvarchar(128)"),
        ("app_name()", "tests", "nvarchar(128)"),
        ("context_info()", None, "varbinary(128)"),
        ("error_number()", None, "int"),
        ("error_message()", None, "nvarchar(4000)"),
        ("rowcount_big()", 3, "bigint"),
    ],
)
def test_what_the_session_answers(text, expected, of):
    assert value(text) == expected
    assert typed(text) == of


def test_the_error_functions_answer_inside_catch():
    info = SimpleNamespace(
        number=1205, severity=13, state=51, procedure="usp_Send", line=7, message="deadlocked"
    )
    session = FakeSession(error_info=info)
    found = [
        value(f"error_{name}()", session=session)
        for name in ("number", "severity", "state", "procedure", "line", "message")
    ]
    assert found == [1205, 13, 51, "usp_Send", 7, "deadlocked"]


def test_error_procedure_is_null_outside_a_module():
    info = SimpleNamespace(procedure="")
    assert value("error_procedure()", session=FakeSession(error_info=info)) is None


def test_options_are_a_bit_mask():
    session = FakeSession()
    base = value("@@options", session=session)
    session.options = session.options.changed(xact_abort=True, nocount=True)
    assert value("@@options", session=session) == base | 16384 | 512


def test_newid_takes_the_next_id_of_the_session():
    session = FakeSession()
    text = "newid()"
    assert value(text, session=session) != value(text, session=session)
    assert compiled(text).constant is False
    assert fails("newsequentialid()").number == 302


def test_session_context_is_a_variant():
    session = FakeSession(session_context={"k": "v", "n": 5, "t": Variant(INT, 6)})
    assert value("session_context(N'k')", session=session) == Variant(nvarchar(4000), "v")
    assert value("session_context(N'n')", session=session) == Variant(INT, 5)
    assert value("cast(session_context(N't') as int)", session=session) == 6
    assert value("session_context(N'zz')", session=session) is None


def test_connectionproperty():
    assert value("connectionproperty('net_transport')").value == "TCP"
    assert value("connectionproperty('nothing')") is None


def test_catalog_questions_go_to_the_session_by_name_and_arguments():
    session = FakeSession()
    assert value("object_id(N'dbo.t', 'U')", session=session) == 4711
    assert value("db_name()", session=session) == 4711
    assert value("schema_name(1 + 1)", session=session) == 4711
    assert session.asked == [("OBJECT_ID", ("dbo.t", "U")), ("DB_NAME", ()), ("SCHEMA_NAME", (2,))]


def test_every_catalog_function_can_be_called_with_its_fewest_arguments():
    for name, (least, most, of) in CATALOG_FUNCTIONS.items():
        called = f"sys.{name}" if name in SYSTEM_SCALARS else name
        expr = compiled(f"{called}({', '.join('1' * least)})")
        assert expr.type is of, name
        assert not expr.constant, name
        assert least <= most, name


def test_serverproperty_is_a_variant():
    assert compiled("serverproperty('EngineEdition')").type is SQL_VARIANT


def test_the_last_rowversion_is_asked_of_the_catalog():
    assert value("@@dbts") == 4711


def test_an_unknown_global_is_refused_by_name():
    assert "@@CPU_BUSY" in refused("@@cpu_busy")

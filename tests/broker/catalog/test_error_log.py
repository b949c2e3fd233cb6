"""The ERRORLOG by T-SQL and Python, user messages (pages of their procedures)."""

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.results import Collector


@pytest.fixture
def instance():
    return Instance(seed=4)


@pytest.fixture
def sa(instance):
    return instance.connect()


def texts(session, call):
    return [row[2] for row in session.execute(call).rows()]


def test_raiserror_with_log_is_read_back_and_searched(sa, instance):
    sa.execute("RAISERROR ('first %d', 10, 1, 7) WITH LOG; RAISERROR ('second', 16, 2) WITH LOG")
    assert [line[2] for line in instance.error_log.lines] == texts(sa, "EXEC sp_readerrorlog")
    assert len(texts(sa, "EXEC sp_readerrorlog 0, 1, 'FIRST'")) == 1
    assert texts(sa, "EXEC sp_readerrorlog 0, 1, 'first', 'second'") == []
    assert len(texts(sa, "EXEC master..xp_readerrorlog 0, 1, N'Severity', N'second'")) == 1


def test_xp_readerrorlog_takes_a_span_of_time_and_an_order(sa, instance):
    for word in ("one", "two", "three"):
        sa.execute(f"RAISERROR ('{word}', 10, 1) WITH LOG")
        instance.advance(60)
    call = "EXEC xp_readerrorlog 0, 1, NULL, NULL, '2026-01-01 00:00:30', '2026-01-01 00:05:00'"
    assert [t.split()[-1] for t in texts(sa, call)] == ["two", "three"]
    assert [t.split()[-1] for t in texts(sa, call + ", N'desc'")] == ["three", "two"]


def test_cycling_keeps_six_old_logs(sa, instance):
    for number in range(8):
        sa.execute(f"RAISERROR ('log {number}', 10, 1) WITH LOG; EXEC sp_cycle_errorlog")
    assert texts(sa, "EXEC sp_readerrorlog") == []
    assert texts(sa, "EXEC sp_readerrorlog 1")[0].endswith("log 7")
    assert texts(sa, "EXEC sp_readerrorlog 6")[0].endswith("log 2")
    assert texts(sa, "EXEC sp_readerrorlog 7") == []
    assert len(sa.execute("EXEC sp_enumerrorlogs").rows()) == 7
    assert instance.error_log.file(1)[0][2].endswith("log 7")


def test_xp_logevent_writes_and_says_nothing(sa):
    answer = sa.execute("EXEC xp_logevent 60000, 'told', 'warning'")
    assert not answer.messages
    assert texts(sa, "EXEC sp_readerrorlog") == ["Error: 60000, Severity: 10, State: 1", "told"]
    assert sa.execute("EXEC xp_logevent 100, 'no'").error().number == 15021


def test_reading_and_cycling_are_for_administrators(sa, instance):
    sa.execute("CREATE LOGIN alice WITH PASSWORD = 'a-Secret-1', CHECK_POLICY = OFF")
    alice = instance.login("alice", "a-Secret-1")
    alice.sink = Collector()
    assert alice.execute("EXEC sp_readerrorlog").error().number == 15003
    assert alice.execute("EXEC sp_cycle_errorlog").error().number == 15003
    sa.execute("ALTER SERVER ROLE securityadmin ADD MEMBER alice")
    assert alice.execute("EXEC sp_readerrorlog").error() is None
    assert alice.execute("EXEC sp_addmessage 50001, 16, 'x'").error().number == 15247
    assert alice.execute("RAISERROR ('x', 10, 1) WITH LOG").error().number == 2778


def test_the_agents_log_is_refused_by_name(sa):
    assert sa.execute("EXEC sp_readerrorlog 0, 2").error().number == 60001


# ---------------------------------------------------------------------- messages
def test_a_message_has_text_severity_and_maybe_the_log(sa):
    sa.execute("EXEC sp_addmessage 50001, 16, N'Value %d of %s', @with_log = 'TRUE'")
    error = sa.execute("RAISERROR (50001, -1, 3, 5, 'x')").error()
    assert (error.number, error.severity, error.state, error.text) == (50001, 16, 3, "Value 5 of x")
    assert "Value 5 of x" in texts(sa, "EXEC sp_readerrorlog")[0]
    assert sa.execute(
        "SELECT severity, is_event_logged, text FROM sys.messages WHERE message_id = 50001"
    ).rows() == [(16, 1, "Value %d of %s")]
    sa.execute("EXEC sp_altermessage 50001, 'WITH_LOG', 'false'")
    assert (
        sa.execute("SELECT is_event_logged FROM sys.messages WHERE message_id = 50001").one() == 0
    )
    sa.execute("EXEC sp_dropmessage 50001")
    assert sa.execute("RAISERROR (50001, 16, 1)").error().number == 18054


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("EXEC sp_addmessage 50000, 16, 'x'", 15040),
        ("EXEC sp_addmessage 50001, 26, 'x'", 15041),
        ("EXEC sp_addmessage 50001, 16, 'x', @with_log = 'maybe'", 15271),
        ("EXEC sp_addmessage 50001, 16, 'x', 'Deutsch'", 60001),
        ("EXEC sp_dropmessage 50000", 15178),
        ("RAISERROR (100, 16, 1)", 2732),
        ("RAISERROR (15600, 16, 1, 'sp_x')", 15600),
        ("EXEC sp_dropmessage 50001", 15179),
        ("EXEC sp_addmessage 50002, 16, 'x'; EXEC sp_addmessage 50002, 16, 'y'", 15043),
        ("EXEC sp_altermessage 50002, 'OTHER', 'true'", 15176),
    ],
)
def test_what_is_wrong_with_a_message(sa, text, number):
    assert sa.execute(text).error().number == number


def test_replace_takes_the_place(sa):
    sa.execute(
        "EXEC sp_addmessage 50002, 16, 'x'; EXEC sp_addmessage 50002, 12, 'y', @replace = 'replace'"
    )
    assert sa.execute("RAISERROR (50002, -1, 1)").error().severity == 12

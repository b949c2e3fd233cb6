"""sp_getapplock: return codes, not errors."""

import pytest


@pytest.fixture
def two(session, instance):
    return session, instance.connect("App")


def lock(session, mode="Exclusive", owner="Session", timeout="NULL"):
    text = (
        f"DECLARE @r int; EXEC @r = sp_getapplock N'res', N'{mode}', N'{owner}', {timeout}; "
        "SELECT @r"
    )
    return session.execute(text)


def test_a_lock_is_granted_and_shown(two):
    first, second = two
    assert lock(first).one() == 0
    assert first.execute("SELECT APPLOCK_MODE('public', 'res', 'Session')").one() == "Exclusive"
    assert second.execute("SELECT APPLOCK_TEST('public', 'res', 'Shared', 'Session')").one() == 0


def test_not_waiting_is_minus_one(two):
    first, second = two
    lock(first)
    assert lock(second, timeout=0).one() == -1


def test_waiting_in_vain_is_minus_one_after_the_time_is_over(two, instance):
    first, second = two
    lock(first)
    waiting = lock(second, timeout=5000)
    assert not waiting.finished
    instance.advance(5)
    assert waiting.one() == -1


def test_waiting_with_success_is_one(two, instance):
    first, second = two
    lock(first)
    waiting = lock(second)
    first.execute("EXEC sp_releaseapplock N'res', N'Session'")
    assert waiting.one() == 1


def test_a_transactions_lock_ends_with_it_and_needs_one(two):
    first, second = two
    assert lock(first, owner="Transaction").one() == -999
    first.execute("BEGIN TRAN")
    assert lock(first, owner="Transaction").one() == 0
    first.execute("COMMIT")
    assert lock(second, timeout=0).one() == 0


def test_each_request_must_be_released(two):
    first, second = two
    lock(first)
    lock(first)
    first.execute("EXEC sp_releaseapplock N'res', N'Session'")
    assert lock(second, timeout=0).one() == -1
    first.execute("EXEC sp_releaseapplock N'res', N'Session'")
    assert lock(second, timeout=0).one() == 0


def test_releasing_what_is_not_held_is_an_error(two):
    assert two[0].execute("EXEC sp_releaseapplock N'res', N'Session'").error().number == 1223


def test_a_deadlock_victim_hears_minus_three_and_keeps_its_transaction(two, instance):
    first, second = two
    first.execute("CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1)")
    first.execute("BEGIN TRAN; UPDATE dbo.T SET a = 1")
    second.execute("SET DEADLOCK_PRIORITY LOW; BEGIN TRAN")
    lock(second)
    lock(first)
    answer = second.execute("DECLARE @r int; SELECT * FROM dbo.T WITH (UPDLOCK)")
    assert answer.error().number == 1205
    first.execute("ROLLBACK")


def test_a_session_that_ends_gives_its_locks_back(two):
    first, second = two
    lock(first)
    first.close()
    assert lock(second, timeout=0).one() == 0


def test_an_activated_task_that_ends_gives_its_locks_back_too(two, instance):
    """Its procedure forgets them; the next task has the same session id, and nothing of theirs."""
    first, second = two
    for text in (
        "CREATE QUEUE dbo.q; CREATE TABLE dbo.heard (answer int);",
        "CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT]);",
        "CREATE PROCEDURE dbo.reader AS BEGIN DECLARE @got int; RECEIVE TOP (1) * FROM dbo.q; "
        "EXEC @got = sp_getapplock 'task', 'Exclusive', 'Session', 0; "
        "INSERT dbo.heard VALUES (@got); END;",
        "ALTER QUEUE dbo.q WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);",
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE 's' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01); SEND ON CONVERSATION @h (0x02);",
    ):
        first.execute(text).ok()
    instance.run()
    assert {
        row[0] for row in second.execute("SELECT answer FROM dbo.heard;").result_sets[0].rows
    } == {0}
    answer = (
        second.execute(
            "DECLARE @got int; EXEC @got = sp_getapplock 'task', 'Exclusive', "
            "'Session', 0; SELECT @got;"
        )
        .result_sets[0]
        .rows
    )
    assert answer == [(0,)]


def of_principal(session, name, timeout=0):
    """The return code of asking for res as that principal's."""
    return session.execute(
        "DECLARE @r int; EXEC @r = sp_getapplock N'res', N'Exclusive', N'Session', "
        f"{timeout}, N'{name}'; SELECT @r"
    )


def test_each_principal_has_locks_of_its_own(two):
    first, second = two
    first.execute("CREATE USER keeper WITHOUT LOGIN;").ok()
    assert of_principal(first, "keeper").one() == 0
    assert of_principal(second, "public").one() == 0
    assert of_principal(second, "keeper").one() == -1
    assert first.execute("SELECT APPLOCK_MODE('keeper', 'res', 'Session')").one() == "Exclusive"
    first.execute("EXEC sp_releaseapplock N'res', N'Session', N'keeper';").ok()
    assert of_principal(second, "keeper").one() == 0


def test_only_a_member_of_the_principal_can_have_its_lock(two):
    first, second = two
    first.execute("CREATE USER keeper WITHOUT LOGIN; CREATE USER stranger WITHOUT LOGIN;").ok()
    as_keeper, as_stranger = "EXECUTE AS USER = N'keeper';", "EXECUTE AS USER = N'stranger';"
    second.execute(as_stranger).ok()
    assert [e.number for e in of_principal(second, "keeper").errors] == [15151]
    first.execute(as_keeper).ok()
    assert of_principal(first, "keeper").one() == 0
    assert [e.number for e in of_principal(first, "nobody").errors] == [15151]

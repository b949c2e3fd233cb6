"""Who is in the way of an ALTER DATABASE that wants the database alone (F-481, F-482)."""

import pytest

from redial_broker.instance.instance import Instance

ENABLE = "ALTER DATABASE App SET ENABLE_BROKER"
GRANTS = """
    SELECT request_session_id, request_mode, request_status FROM sys.dm_tran_locks
    WHERE resource_type = N'DATABASE' AND resource_database_id = DB_ID(N'App')
    ORDER BY request_session_id, request_mode"""


def made(**switches):
    """An instance with a database App whose broker is off."""
    instance = Instance(switches=switches)
    admin = instance.connect()
    admin.execute("CREATE DATABASE App; ALTER DATABASE App SET DISABLE_BROKER").ok()
    return instance, admin


def numbers(answer):
    return [error.number for error in answer.errors]


@pytest.mark.parametrize("number", [5070, 5061])
def test_no_wait_fails_with_two_messages_and_a_catch_block_sees_the_last(number):
    instance, admin = made(no_wait_while_others_use_the_database=number)
    other = instance.connect("App")
    assert numbers(admin.execute(f"{ENABLE} WITH NO_WAIT")) == [number, 5069]
    assert admin.execute(
        f"BEGIN TRY {ENABLE} WITH NO_WAIT END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"
    ).rows() == [(5069,)]
    other.close()
    admin.execute(f"{ENABLE} WITH NO_WAIT").ok()


def test_no_wait_may_wait_all_the_same():
    instance, admin = made(no_wait_while_others_use_the_database="waits")
    other = instance.connect("App")
    waiting = admin.execute(f"{ENABLE} WITH NO_WAIT")
    assert not waiting.finished
    other.close()
    instance.run()
    assert waiting.ok().finished


def test_ones_own_session_is_not_in_the_way():
    _, admin = made()
    admin.execute("USE App").ok()
    admin.execute(f"{ENABLE} WITH NO_WAIT").ok()


def test_rollback_immediate_says_so_and_ends_the_others():
    instance, admin = made()
    other = instance.connect("App")
    answer = admin.execute(f"{ENABLE} WITH ROLLBACK IMMEDIATE").ok()
    assert [m.number for m in answer.messages] == [5060, 5060]
    assert other.id not in instance.sessions
    assert admin.execute(f"{ENABLE} WITH ROLLBACK IMMEDIATE").ok().messages == []


def test_the_views_name_who_is_in_the_way():
    instance, admin = made()
    other = instance.login("sa", "Redial-2026", "App", app="till 7", host="shop")
    assert admin.execute(
        "SELECT session_id, login_name, host_name, program_name, open_transaction_count "
        "FROM sys.dm_exec_sessions WHERE database_id = DB_ID(N'App')"
    ).rows() == [(other.id, "sa", "shop", "till 7", 0)]
    assert admin.execute(GRANTS).rows() == [(other.id, "S", "GRANT")]


def test_who_waits_and_behind_whom_is_shown():
    instance, admin = made()
    other, watcher = instance.connect("App"), instance.connect()
    admin.execute(ENABLE)
    assert watcher.execute(GRANTS).rows() == [
        (admin.id, "X", "WAIT"),
        (other.id, "S", "GRANT"),
    ]
    assert watcher.execute(
        "SELECT blocking_session_id, wait_type FROM sys.dm_exec_requests "
        f"WHERE session_id = {admin.id}"
    ).rows() == [(other.id, "LCK_M_X")]


def test_no_lock_timeout_ends_the_wait():
    """ "SET LOCK_TIMEOUT" page: ALTER DATABASE does not honor it."""
    instance, admin = made()
    other = instance.connect("App")
    waiting = admin.execute(f"SET LOCK_TIMEOUT 5000; {ENABLE}")
    instance.advance(3600)
    assert not waiting.finished
    other.close()
    instance.run()
    assert waiting.ok().finished


def test_who_comes_in_by_use_waits_behind_it():
    # A is in App; B wants it alone; C comes: B, then C.
    instance, admin = made()
    a, c = instance.connect("App"), instance.connect()
    b_answer = admin.execute(ENABLE)
    c_answer = c.execute("USE App; SELECT is_broker_enabled FROM sys.databases WHERE name = 'App'")
    assert not b_answer.finished and not c_answer.finished
    a.execute("USE master").ok()
    assert b_answer.ok().finished
    assert c_answer.rows() == [(1,)]


def test_the_first_request_of_a_new_login_waits_behind_it_and_of_an_old_one_does_not():
    instance, admin = made()
    old = instance.connect("App")
    admin.execute(ENABLE)
    new = instance.connect("App")
    answer = new.execute("SELECT 1")
    assert not answer.finished
    assert old.execute("SELECT 2").rows() == [(2,)]
    old.close()
    instance.run()
    assert answer.rows() == [(1,)]


def test_new_sessions_may_go_in():
    instance, admin = made(new_sessions_behind_alter_database="go in")
    instance.connect("App")
    waiting = admin.execute(ENABLE)
    assert instance.connect("App").execute("SELECT 1").rows() == [(1,)]
    assert instance.connect().execute("USE App; SELECT 1").rows() == [(1,)]
    assert not waiting.finished


def test_a_cancelled_wait_lets_the_others_in():
    instance, admin = made()
    instance.connect("App")
    admin.execute(ENABLE)
    answer = instance.connect("App").execute("SELECT 1")
    assert not answer.finished
    admin.attention()
    instance.run()
    assert answer.rows() == [(1,)]


def test_two_that_wait_for_each_other_to_leave_are_a_deadlock():
    instance, admin = made()
    admin.close()
    one, two = instance.connect("App"), instance.connect("App")
    first = one.execute(f"{ENABLE}; SELECT 1")
    second = two.execute(f"{ENABLE}; SELECT 2")
    assert numbers(second) == [1205]
    assert not first.finished
    two.close()
    instance.run()
    assert first.rows() == [(1,)]


def test_a_single_user_is_in_the_way_of_any_other_change():
    instance, admin = made()
    user = instance.connect("App")
    user.execute("ALTER DATABASE App SET SINGLE_USER").ok()
    assert numbers(admin.execute("ALTER DATABASE App SET MULTI_USER")) == [5064, 5069]
    user.execute("ALTER DATABASE App SET MULTI_USER").ok()

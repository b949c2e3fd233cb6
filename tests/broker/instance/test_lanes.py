"""Long statements in lanes: others have their turn, and the answer is what it always was.

The meter looks after a few rows here, so that a statement of some hundred rows is a long one.
"""

import pytest

from redial_broker.engine import meter
from redial_broker.engine.errors import SqlError
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch

LONG = "SELECT COUNT(*) FROM t x CROSS JOIN t y WHERE x.a + y.a >= 0"


@pytest.fixture
def instance(monkeypatch):
    monkeypatch.setattr(meter, "EVERY", 40)
    instance = Instance()
    session = instance.connect()
    session.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT)").ok()
    session.execute("INSERT t SELECT value, value FROM GENERATE_SERIES(1, 60)").ok()
    instance.lanes.opened = True
    return instance


def begin(instance, text, turns=3):
    """A session whose statement is in its lane after so many turns of the scheduler."""
    session = instance.connect()
    session.submit(Batch(text))
    for _ in range(turns):
        assert instance.pump()
    assert session.id in instance.lanes.waiting
    return session


def answer(session):
    """The one value of a session's last result set."""
    return session.sink.one()


def test_others_run_between_two_turns_of_a_long_statement(instance):
    long, other = begin(instance, LONG), instance.connect()
    other.submit(Batch("SELECT 7"))
    instance.pump()
    assert (answer(other), other.active, long.active) == (7, False, True)
    instance.run()
    assert (answer(long), long.active) == (3600, False)


def test_two_long_runs_of_one_program_do_not_share_what_they_remember(instance):
    text = (
        "SELECT COUNT(*) FROM t x JOIN t y ON x.a = y.a"
        " WHERE x.a <= (SELECT MAX(a) FROM t) AND EXISTS (SELECT 1 FROM t z WHERE z.a = y.a)"
    )
    one, two = begin(instance, text), begin(instance, text)
    instance.run()
    assert (answer(one), answer(two)) == (60, 60)


def test_a_recursive_table_is_kept_with_its_statement(instance):
    text = "WITH n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT SUM(i) FROM n"
    one, two = begin(instance, text), begin(instance, text)
    instance.run()
    assert (answer(one), answer(two)) == (4095, 4095)


def test_an_attention_ends_a_suspended_statement(instance):
    long = begin(instance, f"BEGIN TRANSACTION; UPDATE t SET a = 0 WHERE id = 1; {LONG}")
    long.attention()
    assert (long.active, instance.lanes.waiting, long.trancount) == (False, {}, 1)
    assert long.execute("SELECT a FROM t WHERE id = 1").rows() == [(0,)]


def test_kill_ends_a_suspended_statement_and_its_locks(instance):
    long = begin(instance, f"BEGIN TRANSACTION; UPDATE t SET a = 0 WHERE id = 1; {LONG}")
    killer = instance.connect()
    killer.execute(f"KILL {long.id}").ok()
    assert (long.id in instance.sessions, instance.lanes.waiting) == (False, {})
    assert killer.execute("SELECT a FROM t WHERE id = 1").rows() == [(1,)]


def test_a_session_that_was_long_itself_kills_another(instance):
    long = begin(instance, LONG)
    killer = begin(instance, f"{LONG}; KILL {long.id}; SELECT 1")
    long_again = instance.connect()
    assert killer.id in instance.lanes.waiting
    while killer.active:
        instance.pump()
    assert killer.sink.one(1) == 1
    assert long.id not in instance.sessions
    assert long_again.execute("SELECT 1").one() == 1


def test_a_client_that_leaves_takes_its_statement_along(instance):
    long = begin(instance, LONG)
    long.close()
    assert instance.lanes.waiting == {}
    assert not instance.pump()


def test_a_definition_of_what_it_reads_waits_for_it(instance):
    long, other = begin(instance, LONG), instance.connect()
    other.submit(Batch("ALTER TABLE t ADD b INT; INSERT t VALUES (61, 1, 1)"))
    instance.pump()
    assert (long.active, other.active) == (True, True)
    instance.run()
    assert (answer(long), other.active) == (3600, False)


def test_a_definition_made_meanwhile_starts_it_again(instance):
    long, other = begin(instance, f"{LONG} OR OBJECT_ID('late') > 0"), instance.connect()
    other.submit(Batch("CREATE TABLE late (id INT)"))
    instance.run()
    assert answer(long) == 3600


def test_row_versions_are_those_of_the_moment_it_was_suspended(instance):
    setup = instance.connect()
    setup.execute("CREATE DATABASE d").ok()
    setup.execute("ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON").ok()
    setup.execute("USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT)").ok()
    setup.execute("INSERT t SELECT value, 1 FROM GENERATE_SERIES(1, 200)").ok()
    long = begin(instance, "USE d; SELECT SUM(x.a) FROM t x WHERE x.a + 0 = x.a")
    setup.submit(Batch("UPDATE t SET a = 5"))
    instance.run()
    assert answer(long) == 200
    assert setup.execute("SELECT SUM(a) FROM t").rows() == [(1000,)]


def test_changes_of_a_long_statement_are_undone_with_it(instance):
    long = begin(instance, "INSERT t SELECT x.id * 1000 + y.id, 1 FROM t x CROSS JOIN t y", 30)
    long.attention()
    assert instance.connect().execute("SELECT COUNT(*) FROM t").rows() == [(60,)]


def test_a_statement_that_holds_too_much_fails_with_701(instance):
    instance.engine.meter.query_bytes = 100_000
    session = instance.connect()
    held = session.execute("SELECT x.id, y.id FROM t x CROSS JOIN t y")
    assert [error.number for error in held.errors] == [701]
    assert session.execute("SELECT COUNT(*) FROM t").rows() == [(60,)]


def test_what_suspended_statements_hold_counts_for_the_next_one(instance):
    instance.engine.meter.instance_bytes = 150_000
    begin(instance, LONG, 15)
    assert instance.lanes.held
    session = instance.connect()
    instance.engine.meter.others = instance.engine.meter.instance_bytes
    with pytest.raises(SqlError) as caught:
        instance.engine.meter.weigh(1)
    assert caught.value.number == 701
    assert session.id in instance.sessions


def test_without_a_server_a_statement_is_one_step(instance):
    instance.lanes.opened = False
    session = instance.connect()
    session.submit(Batch(LONG))
    assert not instance.pump()
    assert answer(session) == 3600

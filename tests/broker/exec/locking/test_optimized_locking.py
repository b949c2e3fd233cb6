"""optimized_locking: what a change under RCSI waits for (page "Optimized locking", its examples)."""

from __future__ import annotations

import pytest

from tests.broker.exec.lab import Lab

SETUP = (
    "ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT ON;"
    "CREATE TABLE t (a int NOT NULL PRIMARY KEY, b int NULL); INSERT t VALUES (1, 1), (2, 2);"
)


def pair(value: str = "on", setup: str = SETUP) -> tuple[Lab, Lab]:
    """Two sessions over the same two rows."""
    first = Lab(switches={"optimized_locking": value})
    first.run(setup)
    return first, first.other()


@pytest.mark.parametrize(("value", "last"), [("off", 3), ("on", 2)])
def test_a_row_whose_committed_version_does_not_qualify_is_passed_over(value, last):
    """1 t1 makes b 2  2 t2 changes rows where b is 2: it waits, or there is none  3 both commit."""
    t1, t2 = pair(value, SETUP.replace(", (2, 2)", ""))
    t1.run("BEGIN TRANSACTION; UPDATE t SET b = 2 WHERE a = 1;")
    t2.send("UPDATE t SET b = 3 WHERE b = 2;")
    assert (t2.waiting is None) == (value == "on")
    t1.run("COMMIT;")
    assert t2.waiting is None
    assert t1.rows("SELECT b FROM t") == [(last,)]


def test_a_row_that_qualifies_is_waited_for_and_looked_at_again():
    t1, t2 = pair()
    t1.run("BEGIN TRANSACTION; UPDATE t SET b = 9 WHERE a = 1;")
    t2.send("UPDATE t SET b += 1 WHERE b = 1;")
    assert t2.waiting is not None
    t1.run("COMMIT;")
    assert t1.rows("SELECT b FROM t ORDER BY a") == [(9,), (2,)]


def test_a_row_that_is_not_committed_is_not_there_for_a_change_and_its_key_is_waited_for():
    """What two readers with the same message id do in Inbox: the UPDATE finds none, the INSERT waits."""
    t1, t2 = pair()
    t1.run("BEGIN TRANSACTION; INSERT t VALUES (3, 3);")
    t2.run("UPDATE t SET b = 0 WHERE a = 3;")
    t2.send("INSERT t VALUES (3, 0);")
    assert t2.waiting is not None
    t1.run("COMMIT;")
    assert [m.number for m in t2.session.sink.errors] == [2627]


@pytest.mark.parametrize("hint", ["UPDLOCK", "XLOCK", "READCOMMITTEDLOCK", "HOLDLOCK"])
def test_a_hint_that_locks_waits_as_before(hint):
    t1, t2 = pair()
    t1.run("BEGIN TRANSACTION; UPDATE t SET b = 7 WHERE a = 1;")
    t2.send(f"DELETE FROM t WITH ({hint}) WHERE b = 5;")
    assert t2.waiting is not None


def test_without_rcsi_nothing_changes():
    t1, t2 = pair("on", SETUP.partition(";")[2])
    t1.run("BEGIN TRANSACTION; UPDATE t SET b = 7 WHERE a = 1;")
    t2.send("DELETE FROM t WHERE b = 5;")
    assert t2.waiting is not None

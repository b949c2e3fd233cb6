"""Lock escalation: five thousand row locks of one statement become one lock on the table."""

import pytest

from .conftest import ALL

ROWS = 5000
FILL = (
    "WITH digit AS (SELECT d FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS t(d)) "
    "INSERT dbo.shelf SELECT 10 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d, 0 FROM digit AS a "
    "CROSS JOIN digit AS b CROSS JOIN digit AS c CROSS JOIN digit AS e WHERE e.d < 5"
)


@pytest.fixture
def full(locking):
    """Five thousand rows more."""
    locking.actor().does(FILL)
    return locking


def modes(actor) -> set[tuple[str, str]]:
    """Kind and mode of every lock the actor holds."""
    return {(key[0], mode) for key, mode in actor.session.transaction.locks.items()}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dbo.shelf SET jars = jars + 1",
        "DELETE dbo.shelf WHERE id >= 10",
        f"{ALL} WITH (UPDLOCK)",
    ],
)
def test_a_statement_that_locks_so_many_rows_to_change_them_gets_x_on_the_table(full, statement):
    t1, t2 = full.begin("READ COMMITTED")
    t1.does(statement)
    assert modes(t1) == {("OBJECT", "X")}
    t2.blocks(f"{ALL} WHERE id = 1")
    t1.unblocks("COMMIT", t2)


def test_an_insert_of_so_many_rows_does_too(locking):
    [t1] = locking.begin("READ COMMITTED", 1)
    t1.does(FILL)
    assert modes(t1) == {("OBJECT", "X")}


def test_a_reader_that_keeps_its_locks_gets_s_and_lets_readers_in(full):
    t1, t2 = full.begin("REPEATABLE READ")
    t1.does(ALL)
    assert modes(t1) == {("OBJECT", "S")}
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")


def test_it_is_given_up_where_someone_is_in_the_way(full):
    t1, t2 = full.begin("READ COMMITTED")
    t2.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 1 WHERE id >= 10")
    assert modes(t1) == {("OBJECT", "IX"), ("KEY", "X")}


def test_lock_escalation_disable_prevents_it(full):
    full.actor().does("ALTER TABLE dbo.shelf SET (LOCK_ESCALATION = DISABLE)")
    [t1] = full.begin("READ COMMITTED", 1)
    t1.does("UPDATE dbo.shelf SET jars = 1")
    assert modes(t1) == {("OBJECT", "IX"), ("KEY", "X")}


def test_many_statements_with_few_locks_each_do_not_add_up(full):
    [t1] = full.begin("READ COMMITTED", 1)
    t1.does("UPDATE dbo.shelf SET jars = 1 WHERE id BETWEEN 10 AND 3000")
    t1.does("UPDATE dbo.shelf SET jars = 1 WHERE id BETWEEN 3001 AND 5009")
    assert ("OBJECT", "IX") in modes(t1)

"""Others come in inside a statement: before each lock it asks for, and each row it reads."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_lab.explore import Client, Scenario, search
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.search import ATOMIC
from redial_lab.explore.search_report import report
from redial_lab.explore.world import Step, World
from tests.lab.explore.tables import database

T = """
CREATE TABLE dbo.T (K int NOT NULL CONSTRAINT PK PRIMARY KEY, A int NOT NULL, V int NOT NULL);
CREATE UNIQUE INDEX IX ON dbo.T (A);
INSERT dbo.T VALUES (1, 20, 5), (2, 10, 5);
CREATE TABLE dbo.Log (V int NOT NULL);
"""


def instance() -> Instance:
    return database(T)


def rows(world: World, table: str) -> list[tuple]:
    found = world.instance.server.database("d").resolve("dbo", table)
    return list(found.rows.entries.values())


def deadlock(world: World) -> list[str]:
    return ["deadlock"] if world.instance.engine.locks.deadlocks else []


def scenario(*batches: str, atomic: bool = False, **checks) -> Scenario:
    clients = tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(batches, 1))
    return Scenario("inside", instance, clients, statements_atomic=atomic, firings=0, **checks)


BY_THE_OTHER_INDEX = "UPDATE dbo.T SET V = V + 1 WHERE A = 20;"
BY_THE_KEY = "UPDATE dbo.T SET A = A + 1 WHERE K = 1;"


@pytest.mark.parametrize("atomic", [False, True])
def test_the_key_lookup_deadlock_of_two_single_statements(atomic):
    """One locks the entry of the index, then the row; the other the row, then the entry (F-201)."""
    found = search(scenario(BY_THE_OTHER_INDEX, BY_THE_KEY, atomic=atomic, on_every_state=deadlock))
    print(found)
    assert found.ended
    assert ("deadlock" in found.violations) != atomic


@pytest.mark.parametrize("locks", ["changed rows", "every row"])
def test_the_key_lookup_deadlock_of_a_plain_read_and_an_update(locks):
    """The reader keeps the entry while it asks for the row only where it locks what nobody has changed
    (F-202)."""
    read = "SELECT V FROM dbo.T WHERE A = 20;"
    made = scenario(read, BY_THE_KEY, on_every_state=deadlock, switches={"plain_read_locks": locks})
    found = search(made)
    print(found)
    assert found.ended
    assert ("deadlock" in found.violations) == (locks == "every row")


@pytest.mark.parametrize("atomic", [False, True])
def test_two_statements_that_lock_the_same_rows_in_opposite_order(atomic):
    by_key = "UPDATE T SET V = V + 1 FROM dbo.T AS T WITH (INDEX (PK)) WHERE K > 0;"
    by_other = "UPDATE T SET V = V + 1 FROM dbo.T AS T WITH (INDEX (IX)) WHERE A > 0;"
    found = search(scenario(by_key, by_other, atomic=atomic, on_every_state=deadlock))
    print(found)
    assert found.ended
    assert ("deadlock" in found.violations) != atomic


def test_two_that_read_an_index_from_opposite_ends_lock_each_other_out():
    """The one who wants the last row seeks backwards, as a server does (review of 2026-11-25, 3)."""
    up = (
        "BEGIN TRANSACTION; SELECT TOP (1) K FROM dbo.T WITH (UPDLOCK) ORDER BY K; "
        "SELECT K FROM dbo.T WITH (UPDLOCK) WHERE K = 2; COMMIT;"
    )
    down = (
        "BEGIN TRANSACTION; SELECT TOP (1) K FROM dbo.T WITH (UPDLOCK) WHERE K < 9 ORDER BY K DESC; "
        "SELECT K FROM dbo.T WITH (UPDLOCK) WHERE K = 1; COMMIT;"
    )
    assert "deadlock" in search(scenario(up, down, on_every_state=deadlock)).violations


SUM = "INSERT dbo.Log (V) SELECT SUM(V) FROM dbo.T;"
TRANSFER = (
    "BEGIN TRANSACTION; UPDATE dbo.T SET V = V - 1 WHERE K = 1; "
    "UPDATE dbo.T SET V = V + 1 WHERE K = 2; COMMIT;"
)


def moved(world: World) -> list[str]:
    return [f"a sum of {v}" for (v,) in rows(world, "Log") if v != 10]


@pytest.mark.parametrize("atomic", [False, True])
def test_a_sum_under_read_committed_sees_half_of_a_transfer(atomic):
    found = search(scenario(SUM, TRANSFER, atomic=atomic, at_the_end=moved))
    print(found)
    assert found.ended
    assert set(found.violations) == ({"a sum of 11"} if not atomic else set())


def test_a_search_in_which_nobody_comes_in_says_so_beside_its_word():
    made = scenario(SUM, TRANSFER, atomic=True)
    found = search(made)
    assert found.extent == f"exhausted: {ATOMIC}" and ATOMIC not in search(scenario(SUM)).extent
    assert "each statement is one step unless it waits" in "\n".join(report(made, found))


@pytest.mark.parametrize("how", [search, reduced, persistent], ids=lambda how: how.__name__)
@pytest.mark.parametrize("batches", [(SUM, TRANSFER), (BY_THE_OTHER_INDEX, BY_THE_KEY)])
def test_every_kind_of_search_sees_the_same(how, batches):
    whole = search(scenario(*batches, at_the_end=moved, watched=nothing))
    found = how(scenario(*batches, at_the_end=moved, watched=nothing))
    print(found)
    assert found.ended and set(found.violations) == set(whole.violations)


def nothing(_: World) -> None:
    """No check looks at states in between."""


def session_inside(text: str):
    """A session in the midst of a statement, after its first access."""
    world = World(scenario(text))
    session = world.clients[0]
    world.take(Step("run", session.id))
    return world, session


def test_what_it_did_so_far_is_undone_and_its_locks_stay():
    world, session = session_inside("UPDATE dbo.T SET V = 0;")
    for _ in range(3):
        assert {v for _, _, v in rows(world, "T")} == {5}
        held = [key for key in session.transaction.locks if key[0] == "KEY"]
        world.take(Step("run", session.id))
    assert len(held) == 2


@pytest.mark.parametrize("end", ["kill", "attention"])
def test_one_that_ends_inside_a_statement_leaves_nothing_behind(end):
    world, session = session_inside("UPDATE dbo.T SET V = 0;")
    world.take(Step("run", session.id))
    if end == "kill":
        world.instance.kill(session.id)
    else:
        session.attention()
    assert {v for _, _, v in rows(world, "T")} == {5}
    assert not world.instance.engine.locks.resources
    assert session.seen == ()


def test_an_error_in_the_midst_undoes_all_of_its_statement():
    text = "INSERT dbo.T VALUES (3, 30, 1), (4, 40, 1), (1, 50, 1);"
    world = World(scenario(text))
    while steps := [step for step in world.steps() if step.kind == "run"]:
        world.take(steps[0])
    assert world.progress.results[0] == ((2627,),)
    assert len(rows(world, "T")) == 2
    assert not world.instance.engine.locks.resources


DRAWN = "INSERT dbo.Ids (G) SELECT NEWID() FROM dbo.T; SELECT @@IDENTITY;"


IDS = (
    "CREATE TABLE dbo.Ids (I int IDENTITY NOT NULL PRIMARY KEY, "
    "G uniqueidentifier NOT NULL UNIQUE, R rowversion NOT NULL);"
)


def test_an_id_is_drawn_once_however_often_its_statement_runs():
    """A key that was another one each time would be locked anew each time, and never be written."""

    made = scenario(DRAWN, DRAWN)
    made.prepare = lambda: database(T, IDS)
    made.at_the_end = lambda world: [f"ids {[row[0] for row in rows(world, 'Ids')]}"]
    found = search(made)
    assert found.ended
    assert set(found.violations) == {"ids [1, 2, 3, 4]"}


MORE = """
CREATE TABLE dbo.P (K int NOT NULL PRIMARY KEY);
INSERT dbo.P VALUES (1), (2);
CREATE TABLE dbo.C (K int NOT NULL PRIMARY KEY, P int NOT NULL REFERENCES dbo.P (K));
CREATE TABLE dbo.Big (K int NOT NULL PRIMARY KEY, V int NOT NULL);
INSERT dbo.Big VALUES (1, 0), (2, 0), (3, 0);
"""
STRICT = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; "
ADD = "INSERT dbo.T VALUES (5, 50, 1);"
TURN_BY_TURN = {
    "no phantom behind a count": (
        STRICT + "DECLARE @a int = (SELECT COUNT(*) FROM dbo.T); "
        "INSERT dbo.Log SELECT 10 * @a + COUNT(*) FROM dbo.T; COMMIT;",
        ADD,
    ),
    "nor above the last row, read backwards": (
        STRICT + "DECLARE @a int = (SELECT TOP (1) K FROM dbo.T ORDER BY K DESC); "
        "INSERT dbo.Log SELECT TOP (1) 10 * @a + K FROM dbo.T ORDER BY K DESC; COMMIT;",
        ADD,
    ),
    "no row beside one that was looked for": (
        "BEGIN TRANSACTION; IF NOT EXISTS (SELECT 1 FROM dbo.T WITH (UPDLOCK, HOLDLOCK) WHERE K = 5) "
        "INSERT dbo.T VALUES (5, 60, 2); COMMIT;",
        ADD,
    ),
    "no child without its parent": (
        "INSERT dbo.C VALUES (1, 1), (2, 2);",
        "DELETE dbo.P WHERE K = 1;",
    ),
    "a table variable is filled once": (
        "DECLARE @h TABLE (a int NOT NULL); INSERT @h OUTPUT inserted.a INTO dbo.Log "
        "SELECT K FROM dbo.P; INSERT dbo.Log SELECT 10 * a FROM @h;",
        "UPDATE dbo.T SET V = 6;",
    ),
    "a table is made once": (
        "SELECT K INTO dbo.New FROM dbo.P; INSERT dbo.Log SELECT K FROM dbo.New;",
        "UPDATE dbo.T SET V = 6;",
    ),
    "a row is met by a subquery without an index": (
        "INSERT dbo.Log SELECT (SELECT SUM(V) FROM dbo.Big WHERE Big.V = P.K - 1) FROM dbo.P;",
        "UPDATE dbo.T SET V = 6;",
    ),
    "what has written less is the victim": (
        "UPDATE dbo.Big SET V = 1;",
        "BEGIN TRANSACTION; UPDATE dbo.T SET V = 7; UPDATE dbo.T SET V = 8; UPDATE dbo.T SET V = 9; "
        "UPDATE dbo.Big SET V = 2 WHERE K = 3; UPDATE dbo.Big SET V = 2 WHERE K = 1; COMMIT;",
    ),
}


def with_more() -> Instance:
    return database(T, MORE)


def outcome(world: World) -> list[str]:
    tables = (sorted(map(repr, rows(world, name))) for name in ("T", "Log", "P", "C", "Big"))
    return [f"{[*tables]} {world.progress.results}"]


def outcomes(*batches: str, **how) -> set[str]:
    made = scenario(*batches, at_the_end=outcome, watched=nothing, **how)
    made.prepare = with_more
    found = search(made)
    print(found)
    assert found.ended and not any("defect" in name for name in found.violations)
    return set(found.violations)


@pytest.mark.parametrize("name", TURN_BY_TURN)
def test_what_comes_of_it_comes_of_one_after_the_other_too_or_is_a_deadlock(name):
    batches = TURN_BY_TURN[name]
    in_turn = outcomes(*batches, atomic=True)
    found = outcomes(*batches)
    assert in_turn - {one for one in in_turn if "1205" in one} <= found
    assert {one for one in found if "1205" not in one} <= in_turn
    if "victim" in name:
        assert {one for one in found if "1205" in one} and not any(
            "((1205,),), ()" in o for o in found
        )


def test_a_lock_that_was_waited_for_is_given_back_as_any_other():
    """A row that a change refuses is free again, and one that READ COMMITTED has read."""
    for text in ("UPDATE dbo.Big SET V = 0 WHERE V = 99;", "SELECT SUM(V) FROM dbo.Big;"):
        made = with_more()
        other, session = made.connect("d"), made.connect("d")
        other.execute("BEGIN TRANSACTION; UPDATE dbo.Big SET V = 1 WHERE K = 1;").ok()
        session.submit(Batch(f"BEGIN TRANSACTION; {text}"))
        made.run()
        assert session.wait is not None
        other.execute("COMMIT;").ok()
        made.run()
        assert [key for key in session.transaction.locks if key[0] == "KEY"] == []


def test_the_time_is_one_and_the_same_however_long_a_statement_waits():
    at = "INSERT dbo.Log SELECT DATEDIFF(second, '2026-01-01', SYSUTCDATETIME()) FROM dbo.T;"
    slow = (
        "BEGIN TRANSACTION; UPDATE dbo.T SET V = 6 WHERE K = 2; WAITFOR DELAY '00:00:05'; COMMIT;"
    )
    made = scenario(at, slow, at_the_end=lambda world: [f"{len(set(rows(world, 'Log')))} moments"])
    assert set(search(made).violations) == {"1 moments"}


@pytest.mark.parametrize("how", [search, persistent, reduced])
@pytest.mark.parametrize(
    "asks",
    ["IDENT_CURRENT('dbo.Ids')", "OBJECT_ID('dbo.New')", "@@DBTS"],
)
def test_others_come_in_before_a_function_that_tells_what_they_change(asks, how):
    """A asks twice; B makes that another answer in between."""
    twice = (
        f"DECLARE @a sql_variant = {asks}; DECLARE @b sql_variant = {asks}; "
        "IF @a <> @b OR (@a IS NULL AND @b IS NOT NULL) INSERT dbo.Log VALUES (1);"
    )
    changes = "INSERT dbo.Ids DEFAULT VALUES; CREATE TABLE dbo.New (N int NULL);"
    made = scenario(twice, changes, at_the_end=lambda world: [f"{len(rows(world, 'Log'))} rows"])
    made.prepare = with_ids
    made.watched = lambda world: None
    assert set(how(made).violations) == {"0 rows", "1 rows"}


def with_ids() -> Instance:
    return database(
        T,
        "CREATE TABLE dbo.Ids (N int IDENTITY NOT NULL, V rowversion NOT NULL); "
        "INSERT dbo.Ids DEFAULT VALUES;",
    )

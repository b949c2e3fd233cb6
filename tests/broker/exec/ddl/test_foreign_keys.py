"""FOREIGN KEY: definition, enforcement, cascades, locks ("Primary and foreign key constraints")."""

import pytest

from tests.broker.exec.lab import Lab

TABLES = """
CREATE TABLE dbo.P (id int NOT NULL CONSTRAINT PK_P PRIMARY KEY, note varchar(9) NULL);
CREATE TABLE dbo.C (id int NOT NULL PRIMARY KEY, p int NULL
    CONSTRAINT FK_C REFERENCES dbo.P (id){actions});
INSERT dbo.P VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT dbo.C VALUES (10, 1), (11, 1), (12, 2), (13, NULL);
"""


@pytest.fixture
def tables(run):
    def make(actions=""):
        run(TABLES.format(actions=actions))

    return make


CONFLICT = (
    'The {} statement conflicted with the {} constraint "{}". The conflict occurred in '
    'database "App", table "{}", column \'{}\'.'
)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("INSERT dbo.C VALUES (20, 9)", ("INSERT", "FOREIGN KEY", "FK_C", "dbo.P", "id")),
        ("UPDATE dbo.C SET p = 9 WHERE id = 10", ("UPDATE", "FOREIGN KEY", "FK_C", "dbo.P", "id")),
        ("DELETE dbo.P WHERE id = 1", ("DELETE", "REFERENCE", "FK_C", "dbo.C", "p")),
        ("UPDATE dbo.P SET id = 9 WHERE id = 2", ("UPDATE", "REFERENCE", "FK_C", "dbo.C", "p")),
    ],
)
def test_each_direction_is_refused_in_its_own_words(tables, session, run, statement, text):
    tables()
    answer = session.execute(statement)
    assert [(m.number, m.state) for m in answer.messages] == [(547, 0), (3621, 0)]
    assert answer.error().text == CONFLICT.format(*text)
    assert run("SELECT COUNT(*), SUM(p) FROM dbo.C").rows() == [(4, 4)]
    assert run("SELECT COUNT(*), SUM(id) FROM dbo.P").rows() == [(3, 6)]


def test_null_refers_to_nothing_and_unreferenced_rows_may_go(tables, run):
    tables()
    run("INSERT dbo.C VALUES (20, NULL); DELETE dbo.P WHERE id = 3; UPDATE dbo.C SET p = NULL")
    run("DELETE dbo.P")


def test_keys_that_trade_places_are_still_there(tables, run):
    tables()
    run("UPDATE dbo.P SET id = 3 - id WHERE id < 3")
    assert run("SELECT note FROM dbo.P ORDER BY id").rows() == [("b",), ("a",), ("c",)]


def test_delete_cascades_and_set_null_and_set_default(run):
    run("""CREATE TABLE dbo.P (id int PRIMARY KEY); INSERT dbo.P VALUES (0), (1), (2);
        CREATE TABLE dbo.A (id int PRIMARY KEY, p int REFERENCES dbo.P ON DELETE CASCADE);
        CREATE TABLE dbo.B (id int PRIMARY KEY, p int REFERENCES dbo.P ON DELETE SET NULL);
        CREATE TABLE dbo.D (id int, p int DEFAULT 0 REFERENCES dbo.P ON DELETE SET DEFAULT);
        CREATE TABLE dbo.G (a int REFERENCES dbo.A ON DELETE CASCADE);
        INSERT dbo.A VALUES (1, 1), (2, 2); INSERT dbo.B VALUES (1, 1), (2, 2);
        INSERT dbo.D VALUES (1, 1), (2, 2); INSERT dbo.G VALUES (1), (2);
        DELETE dbo.P WHERE id = 1""")
    assert run("SELECT * FROM dbo.A").rows() == [(2, 2)]
    assert run("SELECT p FROM dbo.B ORDER BY id").rows() == [(None,), (2,)]
    assert run("SELECT p FROM dbo.D ORDER BY id").rows() == [(0,), (2,)]
    assert run("SELECT a FROM dbo.G").rows() == [(2,)]


def test_set_default_needs_a_row_to_refer_to(run, session):
    run("""CREATE TABLE dbo.P (id int PRIMARY KEY); INSERT dbo.P VALUES (1);
        CREATE TABLE dbo.C (p int DEFAULT 0 REFERENCES dbo.P ON DELETE SET DEFAULT);
        INSERT dbo.C VALUES (1)""")
    assert session.execute("DELETE dbo.P").error().number == 547
    assert run("SELECT p FROM dbo.C").rows() == [(1,)]


def test_update_cascades_to_the_end_of_the_chain(run):
    run("""CREATE TABLE dbo.P (a int, b int, PRIMARY KEY (a, b));
        INSERT dbo.P VALUES (1, 1), (2, 1);
        CREATE TABLE dbo.C (a int, b int, x int UNIQUE, UNIQUE (b, a),
            FOREIGN KEY (a, b) REFERENCES dbo.P (a, b) ON UPDATE CASCADE);
        CREATE TABLE dbo.D (y int, a int, b int,
            FOREIGN KEY (b, a) REFERENCES dbo.C (b, a) ON UPDATE CASCADE);
        INSERT dbo.C VALUES (1, 1, 7), (2, 1, 8); INSERT dbo.D VALUES (1, 1, 1), (2, 2, 1);
        UPDATE dbo.P SET a = a + 10""")
    assert run("SELECT a, b, x FROM dbo.C ORDER BY x").rows() == [(11, 1, 7), (12, 1, 8)]
    assert run("SELECT y, a, b FROM dbo.D ORDER BY y").rows() == [(1, 11, 1), (2, 12, 1)]


def test_a_table_may_refer_to_itself(run, session):
    run("""CREATE TABLE dbo.T (id int CONSTRAINT PK PRIMARY KEY,
        boss int CONSTRAINT FK REFERENCES dbo.T (id))""")
    run("INSERT dbo.T VALUES (2, 1), (1, NULL), (3, 3)")
    error = session.execute("INSERT dbo.T VALUES (4, 9)").error()
    assert '"FK"' in error.text and "FOREIGN KEY SAME TABLE constraint" in error.text
    error = session.execute("DELETE dbo.T WHERE id = 1").error()
    assert "SAME TABLE REFERENCE constraint" in error.text
    run("DELETE dbo.T")
    assert run("DROP TABLE dbo.T").messages == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TABLE dbo.X (p int CONSTRAINT F REFERENCES dbo.Nope (id))", 1767),
        ("CREATE TABLE dbo.X (p int CONSTRAINT F REFERENCES dbo.P (nope))", 1770),
        ("CREATE TABLE dbo.X (p int, CONSTRAINT F FOREIGN KEY (q) REFERENCES dbo.P (id))", 1769),
        ("CREATE TABLE dbo.X (p varchar(9) CONSTRAINT F REFERENCES dbo.P (note))", 1776),
        ("CREATE TABLE dbo.X (p bigint CONSTRAINT F REFERENCES dbo.P (id))", 1778),
        ("CREATE TABLE dbo.X (p int CONSTRAINT F REFERENCES dbo.H)", 1773),
        ("CREATE TABLE dbo.X (p varchar(8) CONSTRAINT F REFERENCES dbo.S (n))", 1753),
        (
            "CREATE TABLE dbo.X (p int, q int, CONSTRAINT F FOREIGN KEY (p, q) REFERENCES dbo.P)",
            1774,
        ),
        (
            "CREATE TABLE dbo.X (p int NOT NULL CONSTRAINT F REFERENCES dbo.P ON DELETE SET NULL)",
            1761,
        ),
        (
            "CREATE TABLE dbo.X (p int NOT NULL CONSTRAINT F REFERENCES dbo.P ON DELETE SET DEFAULT)",
            1762,
        ),
        ("CREATE TABLE dbo.X (p int CONSTRAINT F REFERENCES master.dbo.P (id))", 1763),
        (
            "CREATE TABLE dbo.X (p int PRIMARY KEY, q int CONSTRAINT F REFERENCES dbo.X"
            " ON DELETE CASCADE)",
            1785,
        ),
        (
            "CREATE TABLE dbo.X (p int REFERENCES dbo.P ON DELETE CASCADE,"
            " q int REFERENCES dbo.P ON DELETE CASCADE)",
            1785,
        ),
    ],
)
def test_a_definition_that_cannot_be_is_followed_by_1750(tables, run, session, text, number):
    tables()
    run("CREATE TABLE dbo.H (id int); CREATE TABLE dbo.S (n varchar(9) UNIQUE)")
    answer = session.execute(text)
    assert [m.number for m in answer.errors] == [number, 1750]
    assert run("SELECT OBJECT_ID(N'dbo.X')").rows() == [(None,)]
    caught = run(f"BEGIN TRY {text} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH")
    assert caught.rows() == [(1750,)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("DROP TABLE dbo.P", [3726]),
        ("TRUNCATE TABLE dbo.P", [4712]),
        ("ALTER TABLE dbo.P DROP CONSTRAINT PK_P", [3725, 3727]),
        ("ALTER TABLE dbo.C DROP COLUMN p", [5074, 4922]),
        ("ALTER TABLE dbo.C ALTER COLUMN p bigint", [5074, 4922]),
        ("INSERT dbo.P OUTPUT inserted.id, 1 INTO dbo.C VALUES (30, 'x')", [332]),
    ],
)
def test_what_is_referenced_is_protected(tables, session, text, numbers):
    tables()
    assert [m.number for m in session.execute(text).errors] == numbers


def test_existing_rows_are_checked_unless_nocheck_is_stated(run, session):
    run("""CREATE TABLE dbo.P (id int PRIMARY KEY); CREATE TABLE dbo.C (p int);
        INSERT dbo.C VALUES (5)""")
    add = "ADD CONSTRAINT F FOREIGN KEY (p) REFERENCES dbo.P (id)"
    error = session.execute(f"ALTER TABLE dbo.C {add}").error()
    assert error.number == 547 and "ALTER TABLE statement" in error.text
    run(f"ALTER TABLE dbo.C WITH NOCHECK {add}")
    state = "SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'F'"
    assert run(state).rows() == [(0, 1)]
    assert session.execute("INSERT dbo.C VALUES (6)").error().number == 547
    run("ALTER TABLE dbo.C NOCHECK CONSTRAINT F; INSERT dbo.C VALUES (6)")
    assert run(state).rows() == [(1, 1)]
    assert session.execute("ALTER TABLE dbo.C WITH CHECK CHECK CONSTRAINT F").error().number == 547
    run("ALTER TABLE dbo.C CHECK CONSTRAINT ALL")
    assert run(state).rows() == [(0, 1)]
    run("DELETE dbo.C; ALTER TABLE dbo.C WITH CHECK CHECK CONSTRAINT F")
    assert run(state).rows() == [(0, 0)]
    run("ALTER TABLE dbo.C DROP CONSTRAINT F; INSERT dbo.C VALUES (7)")
    errors = session.execute("ALTER TABLE dbo.C CHECK CONSTRAINT nope").errors
    assert [m.number for m in errors] == [4917, 4916]
    errors = session.execute("ALTER TABLE dbo.P NOCHECK CONSTRAINT PK").errors
    assert [m.number for m in errors] == [4917, 4916]


def test_temporary_tables_skip_the_constraint(run):
    run("CREATE TABLE dbo.P (id int PRIMARY KEY)")
    answer = run("CREATE TABLE #c (p int CONSTRAINT F REFERENCES dbo.P (id)); INSERT #c VALUES (9)")
    assert [m.number for m in answer.messages] == [1756]


def test_the_catalog_shows_it(tables, run):
    tables(" ON DELETE CASCADE ON UPDATE SET NULL")
    assert run("""SELECT f.name, OBJECT_NAME(parent_object_id), OBJECT_NAME(referenced_object_id),
        key_index_id, delete_referential_action, update_referential_action_desc, f.type
        FROM sys.foreign_keys AS f""").rows() == [("FK_C", "C", "P", 1, 1, "SET_NULL", "F ")]
    assert run("""SELECT constraint_column_id, parent_column_id, referenced_column_id
        FROM sys.foreign_key_columns""").rows() == [(1, 2, 1)]


def test_triggers_of_cascaded_tables_run_in_the_opposite_order(run):
    run("""CREATE TABLE dbo.L (n int IDENTITY, t varchar(9), i int, d int);
        CREATE TABLE dbo.P (id int PRIMARY KEY);
        CREATE TABLE dbo.C (id int PRIMARY KEY, p int REFERENCES dbo.P ON DELETE CASCADE);
        CREATE TABLE dbo.D (c int REFERENCES dbo.C ON DELETE SET NULL);
        INSERT dbo.P VALUES (1); INSERT dbo.C VALUES (1, 1), (2, 1); INSERT dbo.D VALUES (1)""")
    for table, event in (("P", "DELETE"), ("C", "DELETE"), ("D", "UPDATE")):
        run(f"""CREATE TRIGGER dbo.T{table} ON dbo.{table} AFTER {event} AS
            INSERT dbo.L (t, i, d) SELECT '{table}', (SELECT COUNT(*) FROM inserted),
            (SELECT COUNT(*) FROM deleted)""")
    answer = run("DELETE dbo.P; SELECT t, i, d FROM dbo.L ORDER BY n")
    assert answer.rows() == [("D", 1, 1), ("C", 0, 2), ("P", 0, 1)]


def test_a_rollback_brings_the_cascaded_rows_back(tables, run):
    tables(" ON DELETE CASCADE")
    run("BEGIN TRAN; DELETE dbo.P; ROLLBACK")
    assert run("SELECT COUNT(*) FROM dbo.C").rows() == [(4,)]


# ---------------------------------------------------------------------- locks
@pytest.fixture
def two():
    lab = Lab()
    lab.run(TABLES.format(actions=""))
    return lab, lab.other()


def test_a_child_waits_for_an_uncommitted_delete_of_its_parent(two):
    one, other = two
    one.run("BEGIN TRAN; DELETE dbo.P WHERE id = 3")
    waiting = other.send("INSERT dbo.C VALUES (20, 3)")
    assert other.session.wait is not None
    one.run("COMMIT")
    assert [m.number for m in waiting.errors] == [547]


def test_a_parents_delete_waits_for_an_uncommitted_child(two):
    one, other = two
    one.run("BEGIN TRAN; INSERT dbo.C VALUES (20, 3)")
    waiting = other.send("DELETE dbo.P WHERE id = 3")
    assert other.session.wait is not None
    one.run("ROLLBACK")
    assert not waiting.errors and other.session.wait is None


@pytest.mark.parametrize("option", ["READ_COMMITTED_SNAPSHOT", "ALLOW_SNAPSHOT_ISOLATION"])
def test_row_versions_do_not_hide_an_uncommitted_delete(two, option):
    one, other = two
    other.run("USE master")  # the option waits for everybody else to leave
    one.run(f"ALTER DATABASE lab SET {option} ON")
    other.run("USE lab")
    one.run("BEGIN TRAN; DELETE dbo.P WHERE id = 3")
    level = "SNAPSHOT" if "ALLOW" in option else "READ COMMITTED"
    other.run(f"SET TRANSACTION ISOLATION LEVEL {level}")
    waiting = other.send("INSERT dbo.C VALUES (20, 3)")
    assert other.session.wait is not None
    one.run("COMMIT")
    assert [m.number for m in waiting.errors] == [3960 if "ALLOW" in option else 547]


def test_serializable_keeps_the_parents_key_locked(two):
    one, other = two
    one.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; INSERT dbo.C VALUES (20, 3)")
    other.run("SET LOCK_TIMEOUT 0")
    assert other.send("UPDATE dbo.P SET note = 'x' WHERE id = 3").errors[0].number == 1222
    one.run(
        "ROLLBACK; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; "
        "INSERT dbo.C VALUES (20, 3)"
    )
    other.run("UPDATE dbo.P SET note = 'x' WHERE id = 3")


def test_merge_is_checked_and_cascades_too(run, session):
    run("""CREATE TABLE dbo.P (id int PRIMARY KEY); INSERT dbo.P VALUES (1), (2);
        CREATE TABLE dbo.C (p int REFERENCES dbo.P ON DELETE CASCADE); INSERT dbo.C VALUES (1), (2)
        """)
    error = session.execute("""MERGE dbo.C AS t USING (SELECT 9 AS p) AS s ON t.p = s.p
        WHEN NOT MATCHED THEN INSERT VALUES (s.p);""").error()
    assert error.number == 547 and error.text.startswith("The MERGE statement conflicted")
    run("""MERGE dbo.P AS t USING (SELECT 1 AS id) AS s ON t.id = s.id
        WHEN MATCHED THEN DELETE;""")
    assert run("SELECT p FROM dbo.C").rows() == [(2,)]

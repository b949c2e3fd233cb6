"""CREATE, ALTER and DROP TABLE."""

import pytest


def test_a_table_can_be_used_at_once(run):
    run("CREATE TABLE dbo.T (a int NOT NULL PRIMARY KEY, b nvarchar(10) DEFAULT N'x')")
    run("INSERT dbo.T (a) VALUES (1)")
    assert run("SELECT * FROM dbo.T").rows() == [(1, "x")]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TABLE dbo.T (a int)", 2714),
        ("CREATE TABLE nowhere.T (a int)", 2760),
        ("CREATE TABLE dbo.U (a int, A int)", 2705),
        ("CREATE TABLE dbo.U (a nope)", 2715),
        ("CREATE TABLE dbo.U (a int PRIMARY KEY, b int PRIMARY KEY)", 8110),
        ("CREATE TABLE dbo.U (a int NULL PRIMARY KEY)", 8111),
        ("CREATE TABLE dbo.U (a int, PRIMARY KEY (b))", 1911),
        ("CREATE TABLE dbo.U (a nvarchar(max) UNIQUE)", 1919),
        ("CREATE TABLE dbo.U (a int IDENTITY, b int IDENTITY)", 2744),
        ("CREATE TABLE dbo.U (a nvarchar(5) IDENTITY)", 2749),
        ("CREATE TABLE dbo.U (a int CONSTRAINT PK_T PRIMARY KEY)", 2714),
        ("CREATE TABLE other.dbo.U (a int)", 911),
        ("DROP TABLE dbo.Nope", 3701),
        ("ALTER TABLE dbo.Nope ADD b int", 4902),
        ("ALTER TABLE dbo.T ADD a int", 2705),
        ("ALTER TABLE dbo.T ADD PRIMARY KEY (b)", 1779),
        ("ALTER TABLE dbo.T DROP CONSTRAINT nope", 3728),
        ("ALTER TABLE dbo.T DROP COLUMN a", 5074),
        ("ALTER TABLE dbo.T DROP COLUMN nope", 4924),
        ("CREATE TABLE dbo.U (a int, b AS GETDATE())", 60001),
        ("CREATE TABLE dbo.U (a int) ON other_files", 60001),
    ],
)
def test_what_is_wrong_is_named_by_the_servers_number(run, error, text, number):
    run("CREATE TABLE dbo.T (a int NOT NULL CONSTRAINT PK_T PRIMARY KEY, b int)")
    assert error(text) == number


def test_a_refusal_names_construct_and_position(session):
    text = session.execute("\nCREATE TABLE dbo.U (a int,\n b AS GETDATE())").error().text
    assert "computed column" in text and "line 3, column 2" in text


def test_a_rollback_takes_the_table_back(run, error):
    run("BEGIN TRAN; CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1); ROLLBACK")
    assert error("SELECT * FROM dbo.T") == 208
    run("CREATE TABLE dbo.T (a int)")
    run("INSERT dbo.T VALUES (2); BEGIN TRAN; DROP TABLE dbo.T; ROLLBACK")
    assert run("SELECT a FROM dbo.T").rows() == [(2,)]


def test_added_columns_extend_the_rows_that_are_there(run, error):
    run("CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1), (2)")
    run("ALTER TABLE dbo.T ADD b int NOT NULL CONSTRAINT DF_b DEFAULT 7, c nvarchar(5) NULL")
    assert run("SELECT * FROM dbo.T").rows() == [(1, 7, None), (2, 7, None)]
    assert error("ALTER TABLE dbo.T ADD d int NOT NULL") == 4901
    run("ALTER TABLE dbo.T DROP CONSTRAINT DF_b; ALTER TABLE dbo.T DROP COLUMN b")
    assert run("SELECT * FROM dbo.T").rows() == [(1, None), (2, None)]


def test_a_new_check_looks_at_the_rows_and_then_at_new_ones(run, error):
    run("CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1)")
    assert error("ALTER TABLE dbo.T ADD CONSTRAINT CK CHECK (a > 1)") == 547
    run("ALTER TABLE dbo.T ADD CONSTRAINT CK CHECK (a > 0)")
    assert error("INSERT dbo.T VALUES (0)") == 547
    run("ALTER TABLE dbo.T DROP CONSTRAINT CK; INSERT dbo.T VALUES (0)")


def test_a_new_unique_key_refuses_duplicates_that_are_there(run, error):
    run("CREATE TABLE dbo.T (a int, b int); INSERT dbo.T VALUES (1, 1), (1, 2)")
    assert error("ALTER TABLE dbo.T ADD CONSTRAINT UQ UNIQUE (a)") == 1505
    run("ALTER TABLE dbo.T ADD CONSTRAINT UQ UNIQUE (b)")
    assert error("INSERT dbo.T VALUES (5, 2)") == 2627


def test_a_column_can_become_longer_and_another_type(run, error):
    run("CREATE TABLE dbo.T (a int, b nvarchar(5)); INSERT dbo.T VALUES (1, N'12')")
    run("ALTER TABLE dbo.T ALTER COLUMN b int NULL")
    assert run("SELECT b + 1 FROM dbo.T").rows() == [(13,)]
    run("INSERT dbo.T (a) VALUES (2)")
    assert error("ALTER TABLE dbo.T ALTER COLUMN b int NOT NULL") == 515


def test_altering_waits_for_a_transaction_that_uses_the_table(run, session, instance):
    run("CREATE TABLE dbo.T (a int PRIMARY KEY)")
    other = instance.connect("App")
    other.execute("BEGIN TRAN; INSERT dbo.T VALUES (1)")
    waiting = session.execute("ALTER TABLE dbo.T ADD b int NULL")
    assert not waiting.finished
    other.execute("COMMIT")
    assert waiting.finished and not waiting.errors
    assert run("SELECT * FROM dbo.T").rows() == [(1, None)]


def test_a_key_that_may_be_too_long_is_warned_about(session):
    answer = session.execute(
        "CREATE TABLE dbo.T (a sysname, b sysname, c sysname, d sysname, PRIMARY KEY (a, b, c, d))"
    )
    assert not answer.errors
    assert "900 bytes" in answer.infos[0].text and "1024 bytes" in answer.infos[0].text


def test_lock_escalation_is_shown_by_the_catalog(run):
    run("CREATE TABLE dbo.T (a int); ALTER TABLE dbo.T SET (LOCK_ESCALATION = DISABLE)")
    assert run("SELECT lock_escalation_desc FROM sys.tables").rows() == [("DISABLE",)]


def test_temporary_tables_belong_to_the_session(run, session, instance):
    run("CREATE TABLE #t (a int PRIMARY KEY); INSERT #t VALUES (1)")
    assert run("SELECT * FROM #t").rows() == [(1,)]
    assert instance.connect("App").execute("SELECT * FROM #t").error().number == 208
    run("DROP TABLE #t")
    assert session.execute("SELECT * FROM #t").error().number == 208
    run("DROP TABLE IF EXISTS #t, dbo.Nope")


def test_an_error_inside_a_definition_can_be_caught(run):
    found = run(
        "BEGIN TRY CREATE TABLE dbo.U (a int, a int) END TRY "
        "BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"
    )
    assert found.rows() == [(2705,)]


def test_a_copy_of_a_database_has_the_definitions_and_no_rows(run, instance):
    run(
        "CREATE TABLE dbo.T (a int IDENTITY PRIMARY KEY, b int CHECK (b > 0)); "
        "INSERT dbo.T VALUES (1)"
    )
    run("CREATE PROCEDURE dbo.usp AS INSERT dbo.T VALUES (9); SELECT a, b FROM dbo.T")
    run("EXEC dbo.usp")
    server = instance.server
    server.create_database(None, "Copy", server.databases["app"])
    other = instance.connect("Copy")
    assert other.execute("EXEC dbo.usp").rows() == [(1, 9)]
    assert other.execute("INSERT dbo.T VALUES (0)").error().number == 547
    assert run("SELECT COUNT(*) FROM dbo.T").rows() == [(2,)]


def test_sequential_guids_grow_and_are_for_defaults_only(run, error):
    run(
        "CREATE TABLE dbo.G (g uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT (NEWSEQUENTIALID()), "
        "n int IDENTITY); INSERT dbo.G DEFAULT VALUES"
    )
    for _ in range(300):
        run("INSERT dbo.G DEFAULT VALUES")
    assert run("SELECT n FROM dbo.G ORDER BY g").rows() == [(n,) for n in range(1, 302)]
    assert error("CREATE TABLE dbo.H (g int DEFAULT NEWSEQUENTIALID())") == 302


def test_a_key_on_a_nullable_column_is_refused_in_two_messages(session):
    answer = session.execute("CREATE TABLE dbo.U (a int NULL PRIMARY KEY)")
    assert [m.number for m in answer.errors] == [8111, 1750]


def test_identity_insert_stays_on_for_a_table_that_is_altered(run, error):
    run(
        "CREATE TABLE dbo.I (id int IDENTITY, a int); SET IDENTITY_INSERT dbo.I ON; "
        "CREATE INDEX X ON dbo.I (a); ALTER TABLE dbo.I ADD b int"
    )
    run("INSERT dbo.I (id) VALUES (7); SET IDENTITY_INSERT dbo.I OFF")
    assert error("INSERT dbo.I (id) VALUES (8)") == 544
    run("CREATE TABLE #i (id int IDENTITY); SET IDENTITY_INSERT #i ON; INSERT #i (id) VALUES (3)")


def test_a_column_is_added_with_its_foreign_key(run, error):
    run(
        "CREATE TABLE dbo.P (id int PRIMARY KEY); CREATE TABLE dbo.C (x int); "
        "INSERT dbo.C VALUES (1); INSERT dbo.P VALUES (5)"
    )
    run("ALTER TABLE dbo.C ADD p int NULL CONSTRAINT F REFERENCES dbo.P (id) ON DELETE SET NULL")
    assert error("INSERT dbo.C VALUES (2, 6)") == 547
    run("INSERT dbo.C VALUES (2, 5); DELETE dbo.P")
    assert run("SELECT p FROM dbo.C").rows() == [(None,), (None,)]

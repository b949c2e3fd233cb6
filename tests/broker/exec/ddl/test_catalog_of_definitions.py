"""Catalog procedures and functions over definitions: sp_fkeys, describe functions."""


def test_sp_fkeys_lists_columns_and_rules(run, error):
    run(
        "CREATE TABLE dbo.P (a int, b int, CONSTRAINT PK PRIMARY KEY (a, b));"
        "CREATE TABLE dbo.C (x int, y int, CONSTRAINT FK FOREIGN KEY (x, y) REFERENCES dbo.P"
        " ON DELETE CASCADE ON UPDATE SET NULL)"
    )
    expected = [
        ("App", "dbo", "P", "a", "App", "dbo", "C", "x", 1, 2, 0, "FK", "PK", 7),
        ("App", "dbo", "P", "b", "App", "dbo", "C", "y", 2, 2, 0, "FK", "PK", 7),
    ]
    assert run("EXEC sp_fkeys @pktable_name = N'P'").rows() == expected
    assert run("EXEC sp_fkeys @fktable_name = N'c', @fktable_owner = 'dbo'").rows() == expected
    assert run("EXEC sp_fkeys N'C'").rows() == []
    assert error("EXEC sp_fkeys") == 15252


def test_the_first_result_can_be_described_in_a_query(run):
    run(
        "CREATE TABLE dbo.T (a int NOT NULL, b nvarchar(5)); EXEC (N'CREATE PROCEDURE dbo.P AS "
        "SELECT b, a FROM dbo.T')"
    )
    columns = "SELECT column_ordinal, name, system_type_name, is_nullable, error_number FROM "
    assert run(
        columns + "sys.dm_exec_describe_first_result_set(N'SELECT a, @x AS x FROM dbo.T', "
        "N'@x date', 0)"
    ).rows() == [(1, "a", "int", 0, None), (2, "x", "date", 1, None)]
    assert run(
        columns + "sys.dm_exec_describe_first_result_set_for_object(OBJECT_ID('dbo.P'), 0)"
    ).rows() == [(1, "b", "nvarchar(5)", 1, None), (2, "a", "int", 0, None)]
    assert run(
        "SELECT column_ordinal, name, error_number FROM sys.dm_exec_describe_first_result_"
        "set(N'SELECT nope FROM dbo.T', NULL, 0)"
    ).rows() == [(0, None, 207)]


def test_check_constraints_can_be_switched_off_and_on(run, error):
    run(
        "CREATE TABLE dbo.T (a int CONSTRAINT K CHECK (a > 0)); ALTER TABLE dbo.T NOCHECK "
        "CONSTRAINT K; INSERT dbo.T VALUES (0)"
    )
    state = "SELECT is_disabled, is_not_trusted FROM sys.check_constraints"
    assert run(state).rows() == [(1, 1)]
    assert error("ALTER TABLE dbo.T WITH CHECK CHECK CONSTRAINT ALL") == 547
    run("ALTER TABLE dbo.T CHECK CONSTRAINT K")
    assert run(state).rows() == [(0, 1)] and error("INSERT dbo.T VALUES (0)") == 547
    run("DELETE dbo.T; ALTER TABLE dbo.T WITH CHECK CHECK CONSTRAINT K")
    assert run(state).rows() == [(0, 0)]
    assert error("ALTER TABLE dbo.T WITH NOCHECK ADD CONSTRAINT K2 CHECK (a > 9)") is None
    run("ALTER TABLE dbo.T ADD d int DEFAULT 4 WITH VALUES")


def test_with_values_fills_old_rows_with_the_default(run):
    run(
        "CREATE TABLE dbo.T (a int); INSERT dbo.T VALUES (1); ALTER TABLE dbo.T ADD b int NULL "
        "DEFAULT 4 WITH VALUES, c int NULL DEFAULT 5"
    )
    assert run("SELECT * FROM dbo.T").rows() == [(1, 4, None)]

"""CREATE, UPDATE, DROP STATISTICS; DBCC CHECKIDENT; small helpers of the catalog."""

import pytest


@pytest.fixture(autouse=True)
def table(run):
    run("CREATE TABLE dbo.T (id int IDENTITY (10, 5), a int, CONSTRAINT PK PRIMARY KEY (id DESC))")


def test_statistics_have_a_name_and_nothing_else(run, error):
    run(
        "CREATE STATISTICS S ON dbo.T (a, id) WITH FULLSCAN; UPDATE STATISTICS dbo.T S;"
        "UPDATE STATISTICS dbo.T WITH SAMPLE 10 PERCENT; EXEC sp_updatestats"
    )
    assert error("CREATE STATISTICS S ON dbo.T (a)") == 1927
    assert error("CREATE STATISTICS PK ON dbo.T (a)") == 1927
    assert error("CREATE STATISTICS Z ON dbo.T (nope)") == 1911
    assert error("UPDATE STATISTICS dbo.T Nope") == 2767
    assert error("UPDATE STATISTICS dbo.Nope") == 2706
    assert error("DROP STATISTICS dbo.T.PK") == 3739
    assert run("SELECT name, user_created FROM sys.stats ORDER BY stats_id").rows() == [
        ("PK", 0),
        ("S", 1),
    ]
    assert run(
        "SELECT stats_column_id, column_id FROM sys.stats_columns WHERE stats_id = 2"
    ).rows() == [(1, 2), (2, 1)]
    run("DROP STATISTICS dbo.T.S")
    assert error("DROP STATISTICS dbo.T.S") == 3701


def identity(answer):
    return answer.messages[0].text


def test_checkident_reports_and_sets_the_counter(run, error):
    assert "current identity value 'NULL', current column value 'NULL'" in identity(
        run("DBCC CHECKIDENT ('dbo.T', NORESEED)")
    )
    run("DBCC CHECKIDENT ('dbo.T', RESEED, 100); INSERT dbo.T VALUES (1)")
    assert run("SELECT id FROM dbo.T").rows() == [(100,)]
    answer = run("DBCC CHECKIDENT ('dbo.T', RESEED, 20)")
    assert identity(answer) == "Checking identity information: current identity value '100'."
    assert answer.messages[1].number == 2528
    run("INSERT dbo.T VALUES (2)")
    assert run("SELECT id FROM dbo.T ORDER BY id").rows() == [(25,), (100,)]
    assert "current identity value '25', current column value '100'" in identity(
        run("DBCC CHECKIDENT (T)")
    )
    assert run(
        "DBCC CHECKIDENT (T) WITH NO_INFOMSGS; INSERT dbo.T VALUES (3); SELECT MAX(id) FROM dbo.T"
    ).rows() == [(105,)]
    run("CREATE TABLE dbo.N (a int)")
    assert error("DBCC CHECKIDENT ('dbo.N')") == 7997
    assert error("DBCC CHECKIDENT ('dbo.Nope')") == 2501
    assert error("DBCC CHECKDB") == 60001


def test_helpers_of_the_catalog(run, error):
    assert run("EXEC sp_helpindex 'dbo.T'").rows() == [
        ("PK", "clustered, unique, primary key located on PRIMARY", "id(-)")
    ]
    assert run("EXEC sp_recompile 'dbo.T'").messages[0].number == 15070
    assert error("EXEC sp_refreshview 'dbo.T'") == 15165
    assert ("isolation level", "read committed") in run("DBCC USEROPTIONS").rows()

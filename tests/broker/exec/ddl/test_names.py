"""Synonyms, sp_rename, ALTER SCHEMA TRANSFER, temporary tables and procedures, dependencies."""

import pytest

from redial_broker.instance.results import Collector


@pytest.fixture(autouse=True)
def objects(run):
    run("""CREATE TABLE dbo.T (id int IDENTITY CONSTRAINT PK PRIMARY KEY, a int CONSTRAINT DF
        DEFAULT 5, b int CONSTRAINT CK CHECK (b < 100)); CREATE INDEX IX ON dbo.T (a);
        INSERT dbo.T (a, b) VALUES (1, 2)""")
    run("CREATE PROCEDURE dbo.P AS SELECT a FROM dbo.T")
    run("CREATE FUNCTION dbo.F (@x int) RETURNS int AS BEGIN RETURN @x + 1 END")
    run("CREATE SCHEMA other")


# ---------------------------------------------------------------------- synonyms
def test_a_synonym_stands_for_its_object_wherever_rows_or_calls_are_meant(run):
    run(
        "CREATE SYNONYM dbo.Y FOR dbo.T; CREATE SYNONYM dbo.Q FOR App.dbo.P;"
        "CREATE SYNONYM other.G FOR dbo.F"
    )
    run("INSERT dbo.Y (a) VALUES (7); UPDATE Y SET b = 3 WHERE a = 7; DELETE dbo.Y WHERE a = 1")
    assert run("SELECT a, b FROM dbo.Y").rows() == [(7, 3)]
    assert run("EXEC dbo.Q").rows() == [(7,)]
    assert run("SELECT other.G(1)").rows() == [(2,)]
    assert run("SELECT base_object_name FROM sys.synonyms ORDER BY name").rows() == [
        ("[dbo].[F]",),
        ("[App].[dbo].[P]",),
        ("[dbo].[T]",),
    ]
    assert run("SELECT OBJECTPROPERTY(OBJECT_ID('dbo.Y'), 'IsTable')").rows() == [(0,)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE SYNONYM dbo.T FOR dbo.P", 2714),
        ("SELECT * FROM dbo.Broken", 5313),
        ("EXEC dbo.Broken", 5313),
        ("SELECT * FROM dbo.Chain", 5313),
        ("ALTER TABLE dbo.Y ADD z int", 4902),
        ("DROP TABLE dbo.Y", 3701),
        ("DROP SYNONYM dbo.T", 3705),
        ("DROP SYNONYM dbo.Nope", 3701),
    ],
)
def test_what_a_synonym_cannot_do_is_named_by_the_servers_number(run, error, text, number):
    run(
        "CREATE SYNONYM dbo.Y FOR dbo.T; CREATE SYNONYM dbo.Broken FOR dbo.Missing;"
        "CREATE SYNONYM dbo.Chain FOR dbo.Y"
    )
    assert error(text) == number


def test_dropping_a_synonym_leaves_its_object(run, error):
    run("CREATE SYNONYM dbo.Y FOR dbo.T; DROP SYNONYM dbo.Y; DROP SYNONYM IF EXISTS dbo.Y")
    assert error("SELECT * FROM dbo.Y") == 208
    assert run("SELECT COUNT(*) FROM dbo.T").rows() == [(1,)]


# ---------------------------------------------------------------------- sp_rename
def test_tables_columns_indexes_and_constraints_take_new_names(run, error):
    run("CREATE TABLE dbo.C (t int CONSTRAINT FK REFERENCES dbo.T (id) ON UPDATE NO ACTION)")
    for call in (
        "'dbo.T', 'U'",
        "'dbo.U.a', 'c', 'COLUMN'",
        "'dbo.U.IX', 'IY', 'INDEX'",
        "'dbo.PK', 'PK2'",
        "'dbo.DF', 'DF2', 'OBJECT'",
        "'dbo.CK', 'CK2'",
        "'dbo.U.id', 'key', 'COLUMN'",
    ):
        assert run(f"EXEC sp_rename {call}").messages[0].number == 15477
    assert error("SELECT * FROM dbo.T") == 208
    assert run("SELECT [key], c, b FROM dbo.U WITH (INDEX (IY))").rows() == [(1, 1, 2)]
    assert error("INSERT dbo.U (b) VALUES (100)") == 547
    run("INSERT dbo.C VALUES (1); INSERT dbo.U (b) VALUES (1)")
    assert error("INSERT dbo.C VALUES (9)") == 547
    assert run("SELECT c FROM dbo.U ORDER BY c").rows() == [(1,), (5,)]
    assert run("SELECT name FROM sys.objects WHERE name LIKE '%2' ORDER BY name").rows() == [
        ("CK2",),
        ("DF2",),
        ("PK2",),
    ]
    run(
        "ALTER TABLE dbo.U DROP CONSTRAINT DF2, CK2; ALTER TABLE dbo.C DROP CONSTRAINT FK;"
        "ALTER TABLE dbo.U DROP CONSTRAINT PK2"
    )


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("'dbo.Nope', 'x'", 15225),
        ("'dbo.T.nope', 'x', 'COLUMN'", 15225),
        ("'dbo.T', 'P'", 15335),
        ("'dbo.T.a', 'b', 'COLUMN'", 15335),
        ("'dbo.T', 'x', 'NONSENSE'", 15249),
        ("'dbo.T.b', 'c', 'COLUMN'", 15336),
        ("'dbo.T', 'x', 'DATABASE'", 60001),
    ],
)
def test_sp_rename_names_what_is_wrong(error, call, number):
    assert error(f"EXEC sp_rename {call}") == number


def test_a_renamed_module_keeps_its_text_and_a_rollback_its_name(run, error):
    run("GRANT EXECUTE ON dbo.P TO public; EXEC sp_rename 'dbo.P', 'R'")
    assert run("EXEC dbo.R").rows() == [(1,)]
    assert "PROCEDURE dbo.P" in run("SELECT OBJECT_DEFINITION(OBJECT_ID('dbo.R'))").rows()[0][0]
    assert run(
        "SELECT COUNT(*) FROM sys.database_permissions WHERE major_id = OBJECT_ID('dbo.R')"
    ).rows() == [(1,)]
    run("BEGIN TRAN; EXEC sp_rename 'dbo.R', 'S'; ROLLBACK")
    assert error("EXEC dbo.S") == 2812


# ---------------------------------------------------------------------- ALTER SCHEMA TRANSFER
def test_a_table_moves_with_its_constraints_and_rows(run, error):
    run("GRANT SELECT ON dbo.T TO public; ALTER SCHEMA other TRANSFER dbo.T")
    assert error("SELECT * FROM dbo.T") == 208
    run("INSERT other.T (b) VALUES (3)")
    assert run("SELECT a FROM other.T").rows() == [(1,), (5,)]
    assert run(
        "SELECT DISTINCT SCHEMA_NAME(schema_id) FROM sys.objects WHERE parent_object_id = "
        "OBJECT_ID('other.T')"
    ).rows() == [("other",)]
    assert run("SELECT COUNT(*) FROM sys.database_permissions WHERE class = 1").rows() == [(0,)]
    run("ALTER SCHEMA other TRANSFER OBJECT::dbo.P; ALTER SCHEMA dbo TRANSFER other.T")
    assert run("EXEC other.P").rows() == [(1,), (5,)]


# ---------------------------------------------------------------------- temporary things
def test_a_global_temporary_table_is_everybodys_until_its_creator_leaves(instance, run):
    instance.connect().execute("CREATE LOGIN lo WITH PASSWORD = 'Passw0rd!x'").ok()
    run("CREATE USER lo FOR LOGIN lo; CREATE TABLE ##g (a int PRIMARY KEY); INSERT ##g VALUES (1)")
    other = instance.login("lo", "Passw0rd!x", "App")
    other.sink = Collector()
    other.execute("INSERT ##g VALUES (2); CREATE INDEX I ON ##g (a)").ok()
    assert run("SELECT a FROM tempdb..##g").rows() == [(1,), (2,)]
    other.execute("CREATE TABLE ##mine (b int)").ok()
    assert other.execute("CREATE TABLE ##g (b int)").error().number == 2714
    other.close()
    assert run("SELECT OBJECT_ID('tempdb..##mine')").rows() == [(None,)]
    run("DROP TABLE ##g; SELECT 1 AS a INTO ##g; DROP TABLE ##g")


def test_a_global_temporary_table_is_locked_like_any_other(instance, run):
    run("CREATE TABLE ##g (a int); BEGIN TRAN; INSERT ##g VALUES (1)")
    other = instance.connect("App")
    assert other.execute("SET LOCK_TIMEOUT 0; SELECT * FROM ##g").error().number == 1222
    run("ROLLBACK")


def test_a_temporary_procedure_belongs_to_its_session(instance, run, error):
    run("CREATE PROCEDURE #p @x int = 1 AS SELECT @x + 1")
    assert run("EXEC #p 4").rows() == [(5,)]
    assert error("CREATE PROCEDURE #p AS SELECT 1") == 2714
    assert instance.connect("App").execute("EXEC #p").error().number == 2812
    run("ALTER PROCEDURE #p AS SELECT 7")
    assert run("EXEC #p").rows() == [(7,)]
    run("DROP PROCEDURE #p")
    assert error("EXEC #p") == 2812
    assert error("CREATE PROCEDURE ##p AS SELECT 1") == 60001


# ---------------------------------------------------------------------- dependencies
def test_functions_and_sequences_in_defaults_and_checks_are_called_and_protected(run, error):
    run("CREATE SEQUENCE dbo.S AS int START WITH 10")
    run(
        "CREATE TABLE dbo.D (a int DEFAULT dbo.F(1), n int DEFAULT NEXT VALUE FOR dbo.S, "
        "CONSTRAINT K CHECK (dbo.F(a) < 10))"
    )
    run("INSERT dbo.D DEFAULT VALUES; INSERT dbo.D DEFAULT VALUES")
    assert run("SELECT a, n FROM dbo.D").rows() == [(2, 10), (2, 11)]
    assert error("INSERT dbo.D (a) VALUES (9)") == 547
    for text in (
        "DROP FUNCTION dbo.F",
        "DROP SEQUENCE dbo.S",
        "ALTER FUNCTION dbo.F (@x int) RETURNS int AS BEGIN RETURN 0 END",
    ):
        assert error(text) == 3729
    assert error("CREATE TABLE dbo.E (a int CHECK (a > NEXT VALUE FOR dbo.S))") == 11719
    run("DROP TABLE dbo.D; DROP FUNCTION dbo.F; DROP SEQUENCE dbo.S")


def test_schema_binding_protects_what_a_view_or_function_uses(run, error):
    run("CREATE VIEW dbo.V WITH SCHEMABINDING AS SELECT a FROM dbo.T")
    assert error("DROP TABLE dbo.T") == 3729
    assert error("ALTER TABLE dbo.T DROP COLUMN a") == 5074
    assert error("EXEC sp_rename 'dbo.T', 'U'") == 15336
    assert error("ALTER SCHEMA other TRANSFER dbo.T") == 3729
    assert error("CREATE VIEW dbo.W WITH SCHEMABINDING AS SELECT a FROM T") == 4512
    assert error("CREATE VIEW dbo.W WITH SCHEMABINDING AS SELECT * FROM dbo.T") == 1054
    run("ALTER VIEW dbo.V AS SELECT a FROM dbo.T")
    run("DROP TABLE dbo.T")


def test_a_views_names_are_not_deferred(error):
    assert error("CREATE VIEW dbo.V AS SELECT x FROM dbo.Nope") == 208
    assert error("CREATE VIEW dbo.V AS SELECT nope FROM dbo.T") == 207


def test_dependencies_are_listed(run):
    run("CREATE VIEW dbo.V WITH SCHEMABINDING AS SELECT a FROM dbo.T")
    run(
        "CREATE PROCEDURE dbo.Q AS EXEC dbo.P; SELECT dbo.F(1) FROM V; SELECT * FROM dbo.Later; "
        "SELECT * FROM #t"
    )
    assert run("""SELECT OBJECT_NAME(referencing_id), referenced_schema_name,
        referenced_entity_name, OBJECT_NAME(referenced_id), is_schema_bound_reference,
        is_caller_dependent
        FROM sys.sql_expression_dependencies ORDER BY 1, 3""").rows() == [
        ("P", "dbo", "T", "T", 0, 0),
        ("Q", "dbo", "F", "F", 0, 0),
        ("Q", "dbo", "Later", None, 0, 0),
        ("Q", "dbo", "P", "P", 0, 0),
        ("Q", None, "V", None, 0, 1),
        ("V", "dbo", "T", "T", 1, 0),
    ]
    assert run(
        "SELECT referencing_entity_name FROM sys.dm_sql_referencing_entities('dbo.T', 'OBJECT')"
    ).rows() == [("P",), ("V",)]
    assert [r.rows for r in run("EXEC sp_depends 'dbo.P'").result_sets] == [
        [("dbo.T", "user table", "no", "yes", None)],
        [("dbo.Q", "stored procedure")],
    ]


# ---------------------------------------------------------------------- CREATE SCHEMA .. elements
def test_create_schema_makes_what_stands_inside_in_any_order(run):
    run("CREATE USER Ann WITHOUT LOGIN; CREATE USER Bob WITHOUT LOGIN")
    run("""CREATE SCHEMA parts AUTHORIZATION Ann
        CREATE VIEW v AS SELECT a FROM t
        GRANT SELECT ON t TO Bob
        CREATE TABLE t (a int, b int REFERENCES u (b), FOREIGN KEY (a) REFERENCES t2 (k))
        CREATE TABLE u (b int PRIMARY KEY, up int REFERENCES u (b))
        CREATE TABLE t2 (k int PRIMARY KEY)
        GRANT SELECT ON SCHEMA::parts TO Bob
        DENY INSERT ON u TO Bob""")
    assert run(
        "SELECT name FROM sys.objects WHERE schema_id = SCHEMA_ID('parts') AND type IN "
        "('U', 'V') ORDER BY name"
    ).rows() == [("t",), ("t2",), ("u",), ("v",)]
    assert run(
        "SELECT permission_name, state_desc, class_desc FROM sys.database_permissions WHERE "
        "grantee_principal_id = USER_ID('Bob') AND permission_name <> 'CONNECT' "
        "ORDER BY class_desc, permission_name"
    ).rows() == [
        ("INSERT", "DENY", "OBJECT_OR_COLUMN"),
        ("SELECT", "GRANT", "OBJECT_OR_COLUMN"),
        ("SELECT", "GRANT", "SCHEMA"),
    ]
    assert run(
        "SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('parts.v')"
    ).rows() == [("CREATE VIEW v AS SELECT a FROM t",)]
    run("INSERT parts.u VALUES (1, NULL); INSERT parts.t2 VALUES (2); INSERT parts.t VALUES (2, 1)")
    assert run("SELECT a FROM parts.v").rows() == [(2,)]


@pytest.fixture
def two_tables(run):
    run(
        "CREATE TABLE dbo.s (a int); INSERT dbo.s VALUES (1); CREATE TABLE other.s (a int); "
        "INSERT other.s VALUES (2); CREATE TABLE dbo.only (a int); INSERT dbo.only VALUES (3)"
    )


@pytest.mark.parametrize(
    "definition, call",
    [
        ("CREATE PROCEDURE other.p AS SELECT s.a, o.a FROM s CROSS JOIN only o", "EXECUTE other.p"),
        (
            "CREATE VIEW other.v AS SELECT s.a, o.a AS b FROM s CROSS JOIN only o",
            "SELECT * FROM other.v",
        ),
        (
            "CREATE FUNCTION other.i() RETURNS TABLE AS RETURN SELECT s.a, o.a AS b FROM s, only o",
            "SELECT * FROM other.i()",
        ),
        (
            "CREATE FUNCTION other.f() RETURNS int AS BEGIN RETURN (SELECT a FROM s) END",
            "SELECT other.f(), 3",
        ),
        (
            "CREATE TRIGGER other.tr ON other.s AFTER INSERT AS SELECT MIN(s.a), MIN(o.a) FROM s, only o",
            "INSERT other.s VALUES (9)",
        ),
    ],
)
def test_names_inside_a_module_are_first_of_its_schema(run, two_tables, definition, call):
    run(definition)
    assert run(call).rows() == [(2, 3)]


def test_changes_and_sequences_inside_a_module_are_first_of_its_schema(run, two_tables):
    run("CREATE SEQUENCE other.n START WITH 70; CREATE SEQUENCE dbo.n START WITH 5")
    run(
        "CREATE PROCEDURE other.p AS INSERT s VALUES (NEXT VALUE FOR n); UPDATE s SET a += 1; "
        "DELETE s WHERE a = 3"
    )
    run("EXECUTE other.p")
    assert run("SELECT a FROM other.s").rows() == [(71,)]
    assert run("SELECT a FROM dbo.s").rows() == [(1,)]


def test_dynamic_text_and_execute_inside_a_module_are_the_callers(run, two_tables):
    run("CREATE PROCEDURE dbo.q AS SELECT 'dbo'")
    run("CREATE PROCEDURE other.q AS SELECT 'other'")
    run("CREATE PROCEDURE other.p AS EXECUTE ('SELECT a FROM s'); EXECUTE q")
    run("CREATE USER Ann WITHOUT LOGIN WITH DEFAULT_SCHEMA = other; GRANT SELECT, EXECUTE TO Ann")
    assert [r.rows for r in run("EXECUTE other.p").result_sets] == [[(1,)], [("dbo",)]]
    found = run("EXECUTE AS USER = 'Ann'; EXECUTE other.p; SELECT a FROM s; REVERT")
    assert [r.rows for r in found.result_sets] == [[(2,)], [("other",)], [(2,)]]
    assert run("SELECT a FROM s").rows() == [(1,)]


def test_create_schema_is_atomic(run, error):
    assert error("CREATE SCHEMA half CREATE TABLE t (a int) GRANT SELECT ON t TO Nobody") == 15151
    assert run("SELECT SCHEMA_ID('half'), OBJECT_ID('half.t')").rows() == [(None, None)]
    assert (
        error(
            "CREATE SCHEMA half CREATE TABLE t (a int REFERENCES u (b)) "
            "CREATE TABLE u (b int PRIMARY KEY REFERENCES t (a))"
        )
        == 60001
    )
    run("CREATE SCHEMA half CREATE TABLE t (a int)")


def test_a_service_broker_endpoint_takes_permissions_and_loses_them_with_it(run, error):
    run("USE master")
    assert error("GRANT CONNECT ON ENDPOINT::E TO public") == 15151
    run(
        "CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 4740) FOR SERVICE_BROKER "
        "(AUTHENTICATION = WINDOWS)"
    )
    run("GRANT CONNECT ON ENDPOINT::e TO public")
    stated = "SELECT permission_name FROM sys.server_permissions WHERE major_id = 65536"
    assert run(stated).rows() == [("CONNECT",)]
    run("DROP ENDPOINT E")
    assert run(stated).rows() == []

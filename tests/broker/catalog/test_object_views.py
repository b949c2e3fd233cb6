"""sys.objects, sys.columns, sys.types and their kin."""


def test_objects_are_listed_with_their_types_and_parents(rows):
    found = {
        r[0]: r[1:]
        for r in rows(
            "SELECT name, type, SCHEMA_NAME(schema_id), OBJECT_NAME(parent_object_id) "
            "FROM sys.objects"
        )
    }
    assert found["Log"] == ("U ", "audit", None)
    assert found["PK_Log"] == ("PK", "audit", "Log")
    assert found["UQ_Handle"] == ("UQ", "audit", "Log")
    assert found["DF_At"] == ("D ", "audit", "Log")
    assert found["CK_Amount"] == ("C ", "audit", "Log")
    assert found["usp_Add"] == ("P ", "audit", None)


def test_columns_show_type_length_precision_and_nullability(rows):
    found = rows(
        "SELECT name, TYPE_NAME(user_type_id), max_length, precision, scale, is_nullable, "
        "is_identity FROM sys.columns WHERE object_id = OBJECT_ID('audit.Log') "
        "ORDER BY column_id"
    )
    assert found == [
        ("Id", "int", 4, 10, 0, 0, 1),
        ("Name", "sysname", 256, 0, 0, 0, 0),
        ("Handle", "uniqueidentifier", 16, 0, 0, 0, 0),
        ("Body", "varbinary", -1, 0, 0, 1, 0),
        ("At", "datetime2", 7, 23, 3, 0, 0),
        ("Amount", "decimal", 9, 18, 4, 1, 0),
        ("Version", "timestamp", 8, 0, 0, 0, 0),
    ]


def test_a_bulk_copying_driver_gets_one_collation_row_per_column(rows):
    found = rows(
        "select collation_name from sys.columns where object_id=OBJECT_ID('audit.Log') "
        "order by column_id ASC"
    )
    assert found[1] == ("SQL_Latin1_General_CP1_CI_AS",)
    assert found[0] == (None,)


def test_modules_keep_their_text_and_settings(rows):
    (found,) = rows(
        "SELECT definition, uses_ansi_nulls, uses_quoted_identifier FROM "
        "sys.sql_modules WHERE object_id = OBJECT_ID('audit.usp_Add')"
    )
    assert found[0].startswith("CREATE PROCEDURE audit.usp_Add @name sysname")
    assert found[1:] == (1, 1)


def test_an_altered_module_reads_create_in_its_text(session, rows):
    session.execute("ALTER PROCEDURE audit.usp_Add @name sysname AS RETURN 3")
    ((text,),) = rows("SELECT OBJECT_DEFINITION(OBJECT_ID('audit.usp_Add'))")
    assert text == "CREATE PROCEDURE audit.usp_Add @name sysname AS RETURN 3"


def test_parameters_are_listed_in_order(rows):
    found = rows(
        "SELECT name, parameter_id, TYPE_NAME(user_type_id), is_output "
        "FROM sys.parameters WHERE object_id = OBJECT_ID('audit.usp_Add')"
    )
    assert found == [("@name", 1, "sysname", 0), ("@id", 2, "int", 1)]


def test_types_of_the_database_stand_behind_the_systems(rows):
    found = {
        r[0]: r[1:]
        for r in rows("SELECT name, is_user_defined, is_table_type, is_nullable FROM sys.types")
    }
    assert found["Rows"] == (1, 1, 0)
    assert found["Code"] == (1, 0, 0)
    assert found["timestamp"] == (0, 0, 1)


def test_identity_columns_know_seed_step_and_last_value(session, rows):
    session.execute("EXEC audit.usp_Add N'a'; EXEC audit.usp_Add N'b'")
    ((seed, step, last),) = rows(
        "SELECT seed_value, increment_value, last_value FROM sys.identity_columns"
    )
    assert (seed.value, step.value, last.value) == (10, 5, 15)


def test_a_system_view_can_be_found_by_name_as_sqlalchemy_does(rows):
    found = rows(
        "SELECT name FROM sys.system_views WHERE name IN ('dm_exec_sessions', "
        "'dm_pdw_nodes_exec_sessions')"
    )
    assert found == [("dm_exec_sessions",)]


def test_views_of_another_database_show_that_database(rows):
    assert rows("SELECT COUNT(*) FROM master.sys.tables") == [(0,)]


def test_information_schema_describes_tables_columns_and_routines(rows):
    assert rows("SELECT TABLE_SCHEMA, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES") == [
        ("audit", "BASE TABLE")
    ]
    found = rows(
        "SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, IS_NULLABLE, "
        "COLUMN_DEFAULT FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'Log'"
    )
    assert found[1] == ("Name", "nvarchar", 128, "NO", None)
    assert found[4] == ("At", "datetime2", None, "NO", "(sysutcdatetime())")
    assert rows("SELECT ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES") == [("usp_Add",)]

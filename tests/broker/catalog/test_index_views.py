"""sys.indexes, sys.index_columns, constraints, row counts."""


def test_indexes_are_listed_by_id_with_their_kind(rows):
    found = rows(
        "SELECT name, index_id, type_desc, is_unique, is_primary_key, has_filter, "
        "filter_definition FROM sys.indexes WHERE object_id = OBJECT_ID('audit.Log')"
    )
    assert found == [
        ("PK_Log", 1, "CLUSTERED", 1, 1, 0, None),
        ("UQ_Handle", 2, "NONCLUSTERED", 1, 0, 0, None),
        ("IX_Name", 3, "NONCLUSTERED", 0, 0, 1, "(Amount IS NOT NULL)"),
    ]


def test_index_columns_tell_key_columns_from_included_ones(rows):
    found = rows(
        "SELECT COL_NAME(object_id, column_id), key_ordinal, is_included_column "
        "FROM sys.index_columns WHERE object_id = OBJECT_ID('audit.Log') AND index_id = 3"
    )
    assert found == [("Name", 1, 0), ("At", 0, 1)]


def test_a_table_without_a_clustered_index_is_a_heap(session, rows):
    session.execute("CREATE TABLE audit.Heap (a int)")
    assert rows(
        "SELECT index_id, type_desc FROM sys.indexes WHERE object_id = OBJECT_ID('audit.Heap')"
    ) == [(0, "HEAP")]


def test_constraints_show_definition_and_column(rows):
    assert rows("SELECT name, definition, is_system_named FROM sys.check_constraints") == [
        ("CK_Amount", "(Amount > 0)", 0)
    ]
    assert rows("SELECT name, definition, parent_column_id FROM sys.default_constraints") == [
        ("DF_At", "(sysutcdatetime())", 5)
    ]
    assert rows("SELECT name, unique_index_id FROM sys.key_constraints") == [
        ("PK_Log", 1),
        ("UQ_Handle", 2),
    ]


def test_an_unnamed_key_gets_a_name_of_the_servers_shape(session, rows):
    session.execute("CREATE TABLE dbo.ServiceBrokerConversations (a int PRIMARY KEY)")
    ((name,),) = rows(
        "SELECT name FROM sys.key_constraints WHERE parent_object_id = "
        "OBJECT_ID('dbo.ServiceBrokerConversations')"
    )
    assert name.startswith("PK__ServiceB__") and len(name) == len("PK__ServiceB__877FDFD18DF079BD")


def test_partitions_count_rows(session, rows):
    session.execute("EXEC audit.usp_Add N'a'")
    assert rows(
        "SELECT index_id, rows FROM sys.partitions WHERE object_id = OBJECT_ID('audit.Log')"
    ) == [(1, 1), (2, 1), (3, 0)]

"""What the server is asked: one batch, a result set for each question.

Every question is about one schema (``@schema``), or about names the files want (``@names``), reads
catalog views only and waits for no lock of a table's rows but those of Setting and Gate.
"""

from __future__ import annotations

from collections.abc import Iterable

from redial.quoting import literal, quote_name

OURS = "SELECT o.object_id FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(@schema)"
PARTS = (
    f"SELECT x.object_id FROM ({OURS} AND o.type = 'U' "
    "UNION ALL SELECT tt.type_table_object_id FROM sys.table_types AS tt "
    "WHERE tt.schema_id = SCHEMA_ID(@schema)) AS x"
)
"""Tables and table types."""
OWNER = (
    "ISNULL(OBJECT_NAME({0}), (SELECT tt.name FROM sys.table_types AS tt "
    "WHERE tt.type_table_object_id = {0}))"
)
"""Name of a table, or of the type whose columns these are."""

QUESTIONS: dict[str, str] = {
    "database": "SELECT CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), N'Collation')) "
    "AS collation, d.name, USER_NAME() AS who, d.is_broker_enabled, "
    "HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION') "
    "AS sees FROM sys.databases AS d WHERE d.database_id = DB_ID()",
    "schema": "SELECT s.name, USER_NAME(s.principal_id) AS owner "
    "FROM sys.schemas AS s WHERE s.name = @schema",
    "principals": "SELECT dp.name, dp.type FROM sys.database_principals AS dp "
    "WHERE dp.name IN (SELECT n.Name FROM @names AS n)",
    "members": "SELECT USER_NAME(m.member_principal_id) AS member, USER_NAME(m.role_principal_id) "
    "AS role FROM sys.database_role_members AS m "
    "WHERE USER_NAME(m.member_principal_id) IN (SELECT n.Name FROM @names AS n)",
    "objects": "SELECT o.name, o.type, o.parent_object_id FROM sys.objects AS o "
    "WHERE o.schema_id = SCHEMA_ID(@schema) AND o.type NOT IN ('D', 'C', 'PK', 'UQ', 'F')",
    "tables": "SELECT t.name, t.lock_escalation_desc FROM sys.tables AS t "
    "WHERE t.schema_id = SCHEMA_ID(@schema)",
    "types": "SELECT t.name, t.is_table_type FROM sys.types AS t "
    "WHERE t.schema_id = SCHEMA_ID(@schema)",
    "columns": f"SELECT {OWNER.format('c.object_id')} AS owner, c.name, "
    "t.name AS type_name, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity, "
    "cc.definition AS computed, c.collation_name, dc.name AS default_name, "
    "dc.definition AS default_value FROM sys.columns AS c "
    "INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id "
    "LEFT JOIN sys.computed_columns AS cc ON cc.object_id = c.object_id "
    "AND cc.column_id = c.column_id "
    "LEFT JOIN sys.default_constraints AS dc ON dc.object_id = c.default_object_id "
    f"WHERE c.object_id IN ({PARTS})",
    "checks": "SELECT OBJECT_NAME(cc.parent_object_id) AS owner, cc.name, cc.definition, "
    "cc.is_disabled, cc.is_not_trusted FROM sys.check_constraints AS cc "
    f"WHERE cc.parent_object_id IN ({PARTS})",
    "foreign keys": "SELECT fk.name, OBJECT_SCHEMA_NAME(fk.parent_object_id) AS schema_name, "
    "OBJECT_NAME(fk.parent_object_id) AS owner, OBJECT_NAME(fk.referenced_object_id) AS to_table "
    f"FROM sys.foreign_keys AS fk WHERE fk.parent_object_id IN ({OURS}) "
    f"OR fk.referenced_object_id IN ({OURS})",
    "indexes": f"SELECT {OWNER.format('i.object_id')} AS owner, i.name, i.is_primary_key, "
    "i.is_unique_constraint, i.is_unique, i.type, i.allow_row_locks, i.allow_page_locks, "
    "i.ignore_dup_key, i.is_padded, i.fill_factor, i.is_disabled, i.filter_definition, "
    "i.object_id, i.index_id FROM sys.indexes AS i "
    f"WHERE i.index_id > 0 AND i.object_id IN ({PARTS})",
    "index columns": "SELECT ic.object_id, ic.index_id, c.name, ic.is_descending_key, "
    "ic.is_included_column FROM sys.index_columns AS ic INNER JOIN sys.columns AS c "
    "ON c.object_id = ic.object_id AND c.column_id = ic.column_id "
    f"WHERE ic.object_id IN ({PARTS}) ORDER BY ic.object_id, ic.index_id, ic.key_ordinal, "
    "ic.index_column_id",
    "modules": "SELECT o.name, o.type, m.definition, m.uses_ansi_nulls, m.uses_quoted_identifier, "
    "OBJECT_NAME(NULLIF(o.parent_object_id, 0)) AS parent, tr.is_disabled "
    "FROM sys.objects AS o INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id "
    "LEFT JOIN sys.triggers AS tr ON tr.object_id = o.object_id "
    "WHERE o.schema_id = SCHEMA_ID(@schema)",
    "triggers": "SELECT OBJECT_SCHEMA_NAME(tr.object_id) AS schema_name, tr.name, "
    f"OBJECT_NAME(tr.parent_id) AS owner FROM sys.triggers AS tr WHERE tr.parent_id IN ({OURS})",
    "queues": "SELECT q.name, q.is_receive_enabled, q.is_enqueue_enabled, q.is_retention_enabled, "
    "q.is_poison_message_handling_enabled, q.is_activation_enabled, "
    "OBJECT_SCHEMA_NAME(OBJECT_ID(q.activation_procedure)) AS procedure_schema, "
    "OBJECT_NAME(OBJECT_ID(q.activation_procedure)) AS procedure_name, "
    "q.max_readers, USER_NAME(q.execute_as_principal_id) AS execute_as "
    "FROM sys.service_queues AS q WHERE q.schema_id = SCHEMA_ID(@schema)",
    "services": "SELECT s.name, USER_NAME(s.principal_id) AS owner, "
    "OBJECT_SCHEMA_NAME(s.service_queue_id) AS queue_schema, OBJECT_NAME(s.service_queue_id) "
    f"AS queue FROM sys.services AS s WHERE s.service_queue_id IN ({OURS}) "
    "OR s.name IN (SELECT n.Name FROM @names AS n)",
    "contracts of services": "SELECT s.name AS service, sc.name AS contract "
    "FROM sys.service_contract_usages AS u INNER JOIN sys.services AS s "
    "ON s.service_id = u.service_id INNER JOIN sys.service_contracts AS sc "
    "ON sc.service_contract_id = u.service_contract_id "
    f"WHERE s.service_queue_id IN ({OURS}) OR s.name IN (SELECT n.Name FROM @names AS n)",
    "contracts": "SELECT sc.name, USER_NAME(sc.principal_id) AS owner "
    "FROM sys.service_contracts AS sc WHERE sc.name IN (SELECT n.Name FROM @names AS n)",
    "messages of contracts": "SELECT sc.name AS contract, mt.name AS message_type, "
    "u.is_sent_by_initiator, u.is_sent_by_target FROM sys.service_contract_message_usages AS u "
    "INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id "
    "INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id "
    "WHERE sc.name IN (SELECT n.Name FROM @names AS n)",
    "message types": "SELECT mt.name, USER_NAME(mt.principal_id) AS owner, mt.validation, "
    "x.name AS xml_schema FROM sys.service_message_types AS mt "
    "LEFT JOIN sys.xml_schema_collections AS x ON x.xml_collection_id = mt.xml_collection_id "
    "WHERE mt.name IN (SELECT n.Name FROM @names AS n)",
    "broker priorities": "SELECT cp.name, sc.name AS contract, s.name AS local_service, "
    "cp.remote_service_name, cp.priority FROM sys.conversation_priorities AS cp "
    "LEFT JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id "
    "LEFT JOIN sys.services AS s ON s.service_id = cp.local_service_id "
    "WHERE cp.name IN (SELECT n.Name FROM @names AS n) "
    f"OR s.service_queue_id IN ({OURS})",
    "event notifications": "SELECT en.name, OBJECT_NAME(en.parent_id) AS queue, "
    "en.service_name, e.type_desc FROM sys.event_notifications AS en "
    "LEFT JOIN sys.events AS e ON e.object_id = en.object_id "
    f"WHERE en.parent_id IN ({OURS})",
    "permissions": "SELECT p.class_desc, p.permission_name, p.state, "
    "USER_NAME(p.grantee_principal_id) AS grantee, OBJECT_SCHEMA_NAME(p.major_id) AS schema_name, "
    "OBJECT_NAME(p.major_id) AS object_name, COL_NAME(p.major_id, p.minor_id) AS column_name, "
    "p.minor_id, "
    "CASE p.class WHEN 3 THEN SCHEMA_NAME(p.major_id) WHEN 4 THEN USER_NAME(p.major_id) "
    "WHEN 6 THEN (SELECT t.name FROM sys.types AS t WHERE t.user_type_id = p.major_id) "
    "WHEN 15 THEN (SELECT x.name FROM sys.service_message_types AS x "
    "WHERE x.message_type_id = p.major_id) "
    "WHEN 16 THEN (SELECT x.name FROM sys.service_contracts AS x "
    "WHERE x.service_contract_id = p.major_id) "
    "WHEN 17 THEN (SELECT x.name FROM sys.services AS x WHERE x.service_id = p.major_id) "
    "END AS other_name FROM sys.database_permissions AS p "
    f"WHERE p.class = 1 AND p.major_id IN ({OURS}) "
    "OR p.class = 3 AND p.major_id = SCHEMA_ID(@schema) "
    "OR p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t "
    "WHERE t.schema_id = SCHEMA_ID(@schema)) "
    f"OR p.class = 17 AND p.major_id IN (SELECT s.service_id FROM sys.services AS s "
    f"WHERE s.service_queue_id IN ({OURS})) "
    "OR USER_NAME(p.grantee_principal_id) IN (SELECT n.Name FROM @names AS n)",
    "marks": "SELECT ep.class, CASE ep.class WHEN 1 THEN OBJECT_NAME(ep.major_id) "
    "WHEN 3 THEN SCHEMA_NAME(ep.major_id) WHEN 4 THEN USER_NAME(ep.major_id) "
    "WHEN 6 THEN (SELECT t.name FROM sys.types AS t WHERE t.user_type_id = ep.major_id) "
    "WHEN 15 THEN (SELECT x.name FROM sys.service_message_types AS x "
    "WHERE x.message_type_id = ep.major_id) "
    "WHEN 16 THEN (SELECT x.name FROM sys.service_contracts AS x "
    "WHERE x.service_contract_id = ep.major_id) "
    "WHEN 17 THEN (SELECT x.name FROM sys.services AS x WHERE x.service_id = ep.major_id) "
    "END AS name, CASE WHEN ep.class = 1 THEN (SELECT o.type FROM sys.objects AS o "
    "WHERE o.object_id = ep.major_id) END AS type FROM sys.extended_properties AS ep "
    "WHERE ep.minor_id = 0 AND (ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(@schema)) "
    f"OR ep.name = N'Redial.made' AND (ep.class = 1 AND ep.major_id IN ({OURS}) OR ep.class = 6 "
    "AND ep.major_id IN (SELECT t.user_type_id FROM sys.types AS t "
    "WHERE t.schema_id = SCHEMA_ID(@schema))))",
}
"""By what is asked. The columns are what ``found`` makes things of."""

SEQUENTIAL = (
    "IF EXISTS (SELECT 1 FROM sys.all_columns AS c WHERE c.object_id = OBJECT_ID(N'sys.indexes') "
    "AND c.name = N'optimize_for_sequential_key') EXECUTE sys.sp_executesql "
    "N'SELECT i.object_id, i.index_id FROM sys.indexes AS i "
    "WHERE i.optimize_for_sequential_key = 1;'; "
    "ELSE SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id;"
)
"""Indexes with OPTIMIZE_FOR_SEQUENTIAL_KEY; a row of NULLs from a server that lacks it (before 2019)."""


def questions(schema: str, names: Iterable[str]) -> str:
    """The batch. names: of principals and of the broker's objects that are in no schema."""
    rows = ", ".join(f"({literal(name)})" for name in sorted(set(names))) or "(N'')"
    said = [
        "SET NOCOUNT ON;",
        f"DECLARE @schema sysname = {literal(schema)};",
        # Names of the broker's objects are compared byte for byte, users' by the database.
        "DECLARE @names TABLE (Name nvarchar(256) COLLATE Latin1_General_BIN2 NOT NULL);",
        f"INSERT INTO @names (Name) VALUES {rows};",
        *(
            sql.replace(
                "IN (SELECT n.Name FROM @names",
                "COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names",
            )
            + ";"
            for sql in QUESTIONS.values()
        ),
        SEQUENTIAL,
    ]
    return "\n".join(said)


def contents(schema: str) -> str:
    """The rows that are part of an installation: choices, gate, which files came last."""
    own = quote_name(schema)
    return (
        f"SELECT st.Name, st.Value FROM {own}.[Setting] AS st WITH (NOLOCK); "
        f"SELECT g.ConfigId, g.IsOpen, g.ChangedBy, g.ChangedUtc, g.Reason "
        f"FROM {own}.[Gate] AS g WITH (NOLOCK); "
        f"SELECT TOP (1) h.Version, h.ContentHash, h.DeployedUtc, h.DeployedBy "
        f"FROM {own}.[DeploymentHistory] AS h WITH (NOLOCK) ORDER BY h.DeploymentId DESC;"
    )

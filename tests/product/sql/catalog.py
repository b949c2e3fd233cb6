"""What a database's catalog holds, by name: two snapshots are equal or their difference is printed.

Ids, dates and the order of columns are left out, so an upgraded installation can be compared with a
fresh one, and a database before an installation with the same one after its removal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Rows = Callable[[str], list[tuple]]
"""Runs one query; ``Lab.rows`` or anything like it."""

Snapshot = dict[str, list[tuple]]

_COLUMN = """
    c.name, TYPE_NAME(c.user_type_id), c.max_length, c.precision, c.scale, c.is_nullable,
    c.is_identity, c.is_computed, c.collation_name,
    (SELECT d.name FROM sys.default_constraints AS d WHERE d.object_id = c.default_object_id),
    (SELECT d.definition FROM sys.default_constraints AS d WHERE d.object_id = c.default_object_id)
"""

_NAMED = """
            CASE x.class WHEN 1 THEN OBJECT_NAME(x.major_id) WHEN 3 THEN SCHEMA_NAME(x.major_id)
                WHEN 4 THEN USER_NAME(x.major_id) WHEN 6 THEN TYPE_NAME(x.major_id)
                WHEN 15 THEN (SELECT y.name FROM sys.service_message_types AS y
                              WHERE y.message_type_id = x.major_id)
                WHEN 16 THEN (SELECT y.name FROM sys.service_contracts AS y
                              WHERE y.service_contract_id = x.major_id)
                WHEN 17 THEN (SELECT y.name FROM sys.services AS y WHERE y.service_id = x.major_id)
                WHEN 25 THEN (SELECT y.name FROM sys.certificates AS y
                              WHERE y.certificate_id = x.major_id)
                ELSE CONVERT(nvarchar(128), x.major_id) END
"""
"""The name of what a row of permissions or properties is about."""

QUERIES: dict[str, str] = {
    "schemas": "SELECT s.name, USER_NAME(s.principal_id) FROM sys.schemas AS s",
    "objects": """
        SELECT SCHEMA_NAME(o.schema_id),
            CASE WHEN o.type = 'TT' OR p.type = 'TT' THEN N'' ELSE o.name END, o.type,
            CASE WHEN p.type = 'TT' THEN N'table type' ELSE p.name END, o.principal_id
        FROM sys.objects AS o LEFT JOIN sys.objects AS p ON p.object_id = o.parent_object_id
        WHERE o.is_ms_shipped = 0""",
    "columns": f"""
        SELECT SCHEMA_NAME(o.schema_id), o.name, {_COLUMN}
        FROM sys.columns AS c INNER JOIN sys.objects AS o ON o.object_id = c.object_id
        WHERE o.is_ms_shipped = 0 AND o.type <> 'TT'""",
    "indexes": """
        SELECT SCHEMA_NAME(o.schema_id), o.name, i.name, i.type_desc, i.is_unique, i.is_primary_key,
            i.is_unique_constraint, i.allow_row_locks, i.allow_page_locks, i.has_filter,
            i.filter_definition, i.ignore_dup_key
        FROM sys.indexes AS i INNER JOIN sys.objects AS o ON o.object_id = i.object_id
        WHERE o.is_ms_shipped = 0 AND o.type = 'U'""",
    "index columns": """
        SELECT SCHEMA_NAME(o.schema_id), o.name, i.name, ic.key_ordinal,
            COL_NAME(ic.object_id, ic.column_id), ic.is_descending_key, ic.is_included_column
        FROM sys.index_columns AS ic
        INNER JOIN sys.indexes AS i ON i.object_id = ic.object_id AND i.index_id = ic.index_id
        INNER JOIN sys.objects AS o ON o.object_id = ic.object_id
        WHERE o.is_ms_shipped = 0 AND o.type = 'U'""",
    "tables": """
        SELECT SCHEMA_NAME(t.schema_id), t.name, t.lock_escalation_desc FROM sys.tables AS t""",
    "constraints": """
        SELECT SCHEMA_NAME(k.schema_id), OBJECT_NAME(k.parent_object_id), k.name, k.definition
        FROM sys.check_constraints AS k""",
    "types": f"""
        SELECT SCHEMA_NAME(t.schema_id), t.name, t.is_table_type, {_COLUMN}
        FROM sys.table_types AS t
        INNER JOIN sys.columns AS c ON c.object_id = t.type_table_object_id
        UNION ALL
        SELECT SCHEMA_NAME(t.schema_id), t.name, t.is_table_type, NULL,
            TYPE_NAME(t.system_type_id), t.max_length, t.precision, t.scale, t.is_nullable,
            NULL, NULL, t.collation_name, NULL, NULL
        FROM sys.types AS t WHERE t.is_user_defined = 1""",
    "modules": """
        SELECT SCHEMA_NAME(o.schema_id), o.name, m.definition, m.uses_ansi_nulls,
            m.uses_quoted_identifier, USER_NAME(NULLIF(m.execute_as_principal_id, -2))
        FROM sys.sql_modules AS m INNER JOIN sys.objects AS o ON o.object_id = m.object_id""",
    "queues": """
        SELECT SCHEMA_NAME(q.schema_id), q.name, q.is_receive_enabled, q.is_enqueue_enabled,
            q.is_retention_enabled, q.is_activation_enabled, q.activation_procedure, q.max_readers,
            USER_NAME(q.execute_as_principal_id), q.is_poison_message_handling_enabled
        FROM sys.service_queues AS q WHERE q.is_ms_shipped = 0""",
    "services": """
        SELECT s.name, USER_NAME(s.principal_id), SCHEMA_NAME(q.schema_id), q.name
        FROM sys.services AS s
        INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id""",
    "service contracts": """
        SELECT s.name, sc.name FROM sys.service_contract_usages AS u
        INNER JOIN sys.services AS s ON s.service_id = u.service_id
        INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id""",
    "contracts": "SELECT sc.name, USER_NAME(sc.principal_id) FROM sys.service_contracts AS sc",
    "contract types": """
        SELECT sc.name, mt.name, u.is_sent_by_initiator, u.is_sent_by_target
        FROM sys.service_contract_message_usages AS u
        INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
        INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id""",
    "message types": """
        SELECT mt.name, USER_NAME(mt.principal_id), mt.validation, mt.validation_desc
        FROM sys.service_message_types AS mt""",
    "routes": """
        SELECT r.name, r.remote_service_name, r.broker_instance, r.address FROM sys.routes AS r""",
    "priorities": """
        SELECT cp.name, sc.name, s.name, cp.remote_service_name, cp.priority
        FROM sys.conversation_priorities AS cp
        LEFT JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
        LEFT JOIN sys.services AS s ON s.service_id = cp.local_service_id""",
    "bindings": """
        SELECT b.name, b.remote_service_name, USER_NAME(b.remote_principal_id), b.is_anonymous_on
        FROM sys.remote_service_bindings AS b""",
    "principals": """
        SELECT p.name, p.type, p.default_schema_name, USER_NAME(p.owning_principal_id),
            p.authentication_type_desc
        FROM sys.database_principals AS p""",
    "role members": """
        SELECT USER_NAME(m.role_principal_id), USER_NAME(m.member_principal_id)
        FROM sys.database_role_members AS m""",
    "permissions": f"""
        SELECT x.class_desc, {_NAMED}, x.minor_id, USER_NAME(x.grantee_principal_id),
            USER_NAME(x.grantor_principal_id), x.permission_name, x.state_desc
        FROM sys.database_permissions AS x
        WHERE x.major_id >= 0""",
    "certificates": """
        SELECT c.name, USER_NAME(c.principal_id), c.pvt_key_encryption_type_desc, c.subject
        FROM sys.certificates AS c""",
    "keys": """
        SELECT k.name, USER_NAME(k.principal_id), k.algorithm_desc FROM sys.symmetric_keys AS k""",
    "signatures": """
        SELECT OBJECT_NAME(x.major_id), x.class_desc, x.crypt_type_desc
        FROM sys.crypt_properties AS x""",
    "extended properties": f"""
        SELECT x.class_desc, {_NAMED}, x.minor_id, ISNULL(N'Redial.user of schema '
                + SCHEMA_NAME(CASE WHEN x.name LIKE N'Redial.user.%'
                    THEN TRY_CONVERT(int, SUBSTRING(x.name, 13, 10)) ELSE -1 END), x.name),
            CONVERT(nvarchar(400), x.value)
        FROM sys.extended_properties AS x""",
    "triggers": """
        SELECT t.name, t.parent_class_desc, OBJECT_NAME(t.parent_id), t.is_disabled,
            t.is_instead_of_trigger
        FROM sys.triggers AS t WHERE t.is_ms_shipped = 0""",
    "database": """
        SELECT d.is_broker_enabled, d.is_trustworthy_on, d.is_honor_broker_priority_on,
            d.is_read_committed_snapshot_on, d.snapshot_isolation_state,
            d.is_master_key_encrypted_by_server
        FROM sys.databases AS d WHERE d.database_id = DB_ID()""",
}
"""One query for each kind of thing; every id is resolved to a name, that in the name of a mark too: a
schema that is made again after a rollback has another id."""


def snapshot(
    rows: Rows, leave_out: tuple[str, ...] = (), also: Mapping[str, str] = MappingProxyType({})
) -> Snapshot:
    """The catalog of the database ``rows`` runs in.

    leave_out: kinds not to read. also: more kinds, each with its query.
    """
    return {
        kind: sorted((_plain(row) for row in rows(sql + ";")), key=repr)
        for kind, sql in (QUERIES | dict(also)).items()
        if kind not in leave_out
    }


def _plain(row: tuple) -> tuple:
    """Values that compare by what they show."""
    return tuple(value if isinstance(value, int | str | None) else str(value) for value in row)


def difference(before: Snapshot, after: Snapshot) -> list[str]:
    """One line for each thing only one of the two has; empty means equal."""
    lines: list[str] = []
    for kind in sorted(before.keys() | after.keys()):
        old, new = before.get(kind, []), after.get(kind, [])
        lines += [f"- {kind}: {_short(row)}" for row in old if row not in new]
        lines += [f"+ {kind}: {_short(row)}" for row in new if row not in old]
    return lines


def _short(row: tuple[Any, ...]) -> str:
    """A row in one line, modules' text cut."""
    return repr(tuple(v[:60] + "..." if isinstance(v, str) and len(v) > 60 else v for v in row))

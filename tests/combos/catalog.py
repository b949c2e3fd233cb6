"""What a database's catalog holds, comparable: names instead of ids, no dates."""

from __future__ import annotations

from collections.abc import Callable

QUERIES = {
    "objects": "SELECT SCHEMA_NAME(schema_id), name, type FROM sys.objects",
    "types": "SELECT SCHEMA_NAME(schema_id), name FROM sys.types",
    "schemas": "SELECT name, USER_NAME(principal_id) FROM sys.schemas",
    "principals": "SELECT name, type FROM sys.database_principals",
    "members": "SELECT USER_NAME(role_principal_id), USER_NAME(member_principal_id) "
               "FROM sys.database_role_members",
    "permissions": "SELECT class_desc, permission_name, state_desc, "
                   "USER_NAME(grantee_principal_id), major_id FROM sys.database_permissions",
    "services": "SELECT name FROM sys.services",
    "contracts": "SELECT name FROM sys.service_contracts",
    "message types": "SELECT name FROM sys.service_message_types",
    "priorities": "SELECT name FROM sys.conversation_priorities",
    "routes": "SELECT name FROM sys.routes",
    "certificates": "SELECT name FROM sys.certificates",
    "keys": "SELECT name FROM sys.symmetric_keys",
    "endpoints": "SELECT state, is_initiator FROM sys.conversation_endpoints",
    "transmission": "SELECT message_type_name FROM sys.transmission_queue",
    "logins": "SELECT name, type FROM sys.server_principals",
    "database": "SELECT name, is_broker_enabled, is_trustworthy_on, "
                "is_honor_broker_priority_on, is_read_committed_snapshot_on FROM sys.databases",
}  # fmt: skip


def read(rows: Callable[[str], list[tuple]]) -> dict[str, list[tuple]]:
    """Everything above, sorted."""
    return {name: sorted(rows(sql + ";"), key=repr) for name, sql in QUERIES.items()}


def differences(before: dict[str, list[tuple]], after: dict[str, list[tuple]]) -> list[str]:
    """One line per thing that came or went."""
    lines = []
    for name, there in before.items():
        lines += [f"{name}: left behind: {row}" for row in after[name] if row not in there]
        lines += [f"{name}: gone: {row}" for row in there if row not in after[name]]
    return lines

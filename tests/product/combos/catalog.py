"""A database's catalog beside what must be the same again, from the upgrades' own reader:
open conversations, internal objects, logins, every database's options."""

from __future__ import annotations

from tests.product.sql.catalog import Rows, Snapshot, snapshot
from tests.product.sql.catalog import difference as differences

AT_REST = {
    "all objects": "SELECT SCHEMA_NAME(schema_id), name, type FROM sys.objects",
    "all permissions": "SELECT class_desc, permission_name, state_desc, "
    "USER_NAME(grantee_principal_id), CASE class WHEN 1 THEN OBJECT_NAME(major_id) WHEN 6 THEN "
    "TYPE_NAME(major_id) ELSE CONVERT(nvarchar(20), major_id) END FROM sys.database_permissions",
    "endpoints": "SELECT state, is_initiator FROM sys.conversation_endpoints",
    "transmission": "SELECT message_type_name FROM sys.transmission_queue",
    "logins": "SELECT name, type FROM sys.server_principals",
    "databases": "SELECT name, is_broker_enabled, is_trustworthy_on, "
    "is_honor_broker_priority_on, is_read_committed_snapshot_on FROM sys.databases",
}

__all__ = ["differences", "read"]


def read(rows: Rows) -> Snapshot:
    """Everything, sorted."""
    return snapshot(rows, also=AT_REST)

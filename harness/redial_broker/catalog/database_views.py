"""sys.databases and the files of a database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.views import view
from redial_broker.exec.database import Database
from redial_broker.exec.database_state import EMERGENCY, OFFLINE, ONLINE
from redial_broker.exec.security import has_server_permission, user_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


STATES = {ONLINE: 0, EMERGENCY: 5, OFFLINE: 6}
"""sys.databases.state (its page)."""


@view(
    "sys.databases",
    """
name sysname
database_id int
source_database_id int = None
owner_sid varbinary(85)?
create_date datetime
compatibility_level tinyint
collation_name sysname? = 'SQL_Latin1_General_CP1_CI_AS'
user_access tinyint?
user_access_desc nvarchar(60)?
is_read_only bit?
is_auto_close_on bit
is_auto_shrink_on bit?
state tinyint?
state_desc nvarchar(60)?
is_in_standby bit? = 0
is_cleanly_shutdown bit? = 0
is_supplemental_logging_enabled bit? = 0
snapshot_isolation_state tinyint?
snapshot_isolation_state_desc nvarchar(60)?
is_read_committed_snapshot_on bit?
recovery_model tinyint?
recovery_model_desc nvarchar(60)?
page_verify_option tinyint?
page_verify_option_desc nvarchar(60)?
is_auto_create_stats_on bit?
is_auto_update_stats_on bit?
is_auto_update_stats_async_on bit?
is_ansi_null_default_on bit?
is_ansi_nulls_on bit?
is_ansi_padding_on bit?
is_ansi_warnings_on bit?
is_arithabort_on bit?
is_concat_null_yields_null_on bit?
is_numeric_roundabort_on bit? = 0
is_quoted_identifier_on bit?
is_recursive_triggers_on bit?
is_cursor_close_on_commit_on bit? = 0
is_local_cursor_default bit? = 0
is_fulltext_enabled bit? = 0
is_trustworthy_on bit?
is_db_chaining_on bit?
is_parameterization_forced bit?
is_master_key_encrypted_by_server bit
is_query_store_on bit?
is_published bit = 0
is_subscribed bit = 0
is_merge_published bit = 0
is_distributor bit = 0
is_sync_with_backup bit = 0
service_broker_guid uniqueidentifier
is_broker_enabled bit
log_reuse_wait tinyint? = 0
log_reuse_wait_desc nvarchar(60)? = 'NOTHING'
is_date_correlation_on bit
is_cdc_enabled bit = 0
is_encrypted bit? = 0
is_honor_broker_priority_on bit?
replica_id uniqueidentifier?
group_database_id uniqueidentifier?
default_language_name nvarchar(128) = 'us_english'
containment tinyint
containment_desc nvarchar(60)
target_recovery_time_in_seconds int?
delayed_durability int?
delayed_durability_desc nvarchar(60)?
is_memory_optimized_elevate_to_snapshot_on bit? = 0""",
)
def databases(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Every database; who may not enter one sees only master and tempdb besides its own."""
    everything = has_server_permission(session, "VIEW ANY DATABASE")
    for item in sorted(db.server.databases.values(), key=lambda d: d.id):
        if (
            not everything
            and item.name not in {"master", "tempdb"}
            and item is not session.database
            and user_of(session, item) is None
        ):
            continue
        owner = db.server.logins.get(item.owner.lower())
        access = {"MULTI_USER": 0, "SINGLE_USER": 1, "RESTRICTED_USER": 2}[item.user_access]
        recovery = {"FULL": 1, "BULK_LOGGED": 2, "SIMPLE": 3}[item.recovery]
        broker, options = item.broker, item.options

        def on(name: str, default: str = "OFF", options: dict[Any, Any] = options) -> int:
            return int(options.get(name, default) == "ON")

        pages = options.get("page_verify", "CHECKSUM")
        durability = options.get("delayed_durability", "DISABLED")
        yield (
            item.name,
            item.id,
            owner.sid if owner else item.lost_owner,
            item.created,
            options["compatibility_level"],
            access,
            item.user_access,
            int(options["read_only"]),
            on("auto_close"),
            on("auto_shrink"),
            STATES[item.state],
            item.state,
            int(options["snapshot"]),
            "ON" if options["snapshot"] else "OFF",
            int(item.rcsi),
            recovery,
            item.recovery,
            {"NONE": 0, "TORN_PAGE_DETECTION": 1, "CHECKSUM": 2}[pages],
            pages,
            on("auto_create_statistics", "ON"),
            on("auto_update_statistics", "ON"),
            on("auto_update_statistics_async"),
            int(options["ansi_null_default"]),
            *(on(name) for name in SET_DEFAULTS),
            int(options["recursive_triggers"]),
            int(options["trustworthy"]),
            int(options["db_chaining"]),
            int(options.get("parameterization") == "FORCED"),
            int(item.master_key is not None and item.master_key.by_service),
            int(options["query_store"]),
            broker.guid if broker is not None else item.new_guid("broker"),
            int(broker.enabled) if broker is not None else 0,
            on("date_correlation_optimization"),
            int(options["honor_broker_priority"]),
            item.group.replica_id if item.group else None,
            item.group.group_database_id if item.group else None,
            int(options.get("containment") == "PARTIAL"),
            options.get("containment", "NONE"),
            int(options.get("target_recovery_time", 60)),
            {"DISABLED": 0, "ALLOWED": 1, "FORCED": 2}[durability],
            durability,
        )


SET_DEFAULTS = (
    "ansi_nulls",
    "ansi_padding",
    "ansi_warnings",
    "arithabort",
    "concat_null_yields_null",
    "quoted_identifier",
)
"""Database defaults of SET options, in the order of their columns."""


@view(
    "sys.database_files",
    """
file_id int
file_guid uniqueidentifier? = None
type tinyint
type_desc nvarchar(60)?
data_space_id int
name sysname
physical_name nvarchar(260)
state tinyint? = 0
state_desc nvarchar(60)? = 'ONLINE'
- size int
- max_size int
- growth int
is_media_read_only bit = 0
is_read_only bit = 0
is_sparse bit = 0
- is_percent_growth bit""",
)
def database_files(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The files CREATE DATABASE named, or the two a server would make; there are none on disk."""
    for number, (name, path, kind) in enumerate(files_of(db), 1):
        log = kind == "LOG"
        yield number, int(log), kind, int(not log), name, path


@view(
    "sys.master_files",
    """
database_id int
file_id int
file_guid uniqueidentifier? = None
type tinyint
type_desc nvarchar(60)?
data_space_id int
name sysname
physical_name nvarchar(260)
state tinyint? = 0
state_desc nvarchar(60)? = 'ONLINE'
- size int
- max_size int
- growth int
is_media_read_only bit = 0
is_read_only bit = 0
is_sparse bit = 0
- is_percent_growth bit
is_name_reserved bit = 0""",
)
def master_files(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The files of all databases, for who may make databases or see every definition."""
    rights = ("CREATE ANY DATABASE", "ALTER ANY DATABASE", "VIEW ANY DEFINITION")
    if not any(has_server_permission(session, right) for right in rights):
        return
    for database in sorted(db.server.databases.values(), key=lambda item: item.id):
        for row in database_files(session, database):
            yield database.id, *row


def files_of(db: Database) -> list[tuple[str, str, str]]:
    """(logical name, path, ROWS or LOG) of a database's files."""
    found = list(db.options["files"])
    if not any(kind == "ROWS" for *_, kind in found):
        found.insert(0, (db.name, f"{db.name}.mdf", "ROWS"))
    if not any(kind == "LOG" for *_, kind in found):
        found.append((f"{db.name}_log", f"{db.name}_log.ldf", "LOG"))
    return found

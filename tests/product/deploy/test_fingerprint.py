"""The fingerprint is complete: whatever the catalog says of an installation otherwise is named.

No list of properties is kept: each value of each answer is changed, each row is taken away, a row more
comes to each question, and for each of that verification must say something. What need not be named has
its reason here.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from redial.deploy.fingerprint import moved, surroundings
from redial.deploy.fingerprint.model import Catalog
from redial.deploy.fingerprint.queries import QUESTIONS
from redial.deploy.verify import Look, findings
from redial_broker.exec import documented
from redial_broker.exec.objects import SYSTEM_VIEWS
from tests.product.sql.lab import Lab, configured
from tests.sampling import full

from .answers import NAMES, Answers
from .by_hand import Site

EVERYTHING = configured(
    priority={"level": 7},
    operations={"notify_queue_off": True},
    security={"signing": "certificate"},
)
"""A configuration with something of nearly every kind."""
ROWS = 1_000 if full() else 2
"""In so many rows each column is changed, those with another value first."""
SAME_ROWS = 1_000 if full() else 4
"""Of the rows of a question, so many are taken away."""

NEVER = {
    ("database", "name"): "which database was looked at, not how it is",
    ("database", "who"): "who looks",
    ("database", "version"): "which server was looked at",
    ("database", "server"): "which server was looked at",
    (
        "DeploymentAttempt",
        "unfinished",
    ): "a plan says it, no finding: whoever deploys looks before its end",
    ("columns", "column_id"): "two together tell that names are exchanged: test_names.py",
    ("triggers", "name"): "of our schema: a module of its own; see the row more",
    ("triggers", "owner"): "of our schema: a module of its own; see the row more",
}
"""Columns of questions whose change is not named, and why."""
PARTLY = {
    ("database", "delayed_durability_desc"): "only FORCED loses anything (F-505 has the others)",
    ("database", "compatibility_level"): "any from 130 on; which one is an option",
    ("schema", "name"): "asked for by its name",
    ("objects", "name"): "tables and queues are asked for by questions of their own",
    ("principals", "owner"): "users have none",
    ("principals", "type"): "kinds of users other than ours are asked for by name",
    ("principals", "authentication"): "roles have none",
    ("principals", "default_schema_name"): "roles have none",
    ("objects", "type"): "tables, modules and queues are asked for by questions of their own",
    ("indexes", "compression"): "of Landing only where [landing] says one",
    ("columns", "max_length"): "of types that have a length",
    ("columns", "precision"): "of types that have one",
    ("columns", "scale"): "of types that have one",
    ("columns", "is_ansi_padded"): "of types that can be padded otherwise",
    ("columns", "seed"): "of identities",
    ("columns", "step"): "of identities",
    ("indexes", "name"): "the server's own names for keys of table types",
    ("indexes", "is_unique_constraint"): "a primary key is none",
    ("indexes", "type"): "1 is clustered, all others are not",
    ("indexes", "partitions"): "there is no index with none",
    ("modules", "type"): "the text says it",
    ("modules", "parent"): "of triggers",
    ("modules", "is_disabled"): "of triggers",
    ("certificates", "public_key"): "each deployment makes another for signing",
    ("signatures", "crypt_type_desc"): "only one that begins with COUNTER is none of ours",
    ("permissions", "schema_name"): "of objects",
    ("permissions", "object_name"): "of objects",
    ("permissions", "column_name"): "of columns",
    ("permissions", "other_name"): "of what is no object",
    ("permissions", "owner"): "what dbo has granted is as if the owner had",
    ("permissions", "minor_id"): "of objects: the number of a column",
    ("permissions", "major_id"): "the name says it; see the row more",
    ("marks", "type"): "of objects only, tables and queues told apart",
    ("DeploymentText", "Known"): "what is compared with",
    ("DeploymentText", "KeptUtc"): "when",
    ("DeploymentAttempt", "seconds"): "how long the last one took",
    ("OwnedObject", "Kind"): "other kinds than those the files write are kept of earlier choices",
    ("Gate", "ChangedBy"): "said of a closed gate",
    ("Gate", "Reason"): "said of a closed gate",
}
"""Columns of which some values, or some rows, say nothing more."""


@lru_cache(maxsize=1)
def answers() -> Answers:
    return Answers(EVERYTHING)


@lru_cache(maxsize=1)
def kept() -> Catalog:
    """What a deployment keeps of the surroundings."""
    return surroundings(answers().look().found)


def said(one: Look) -> list[str]:
    """All that verification tells: findings, what moved, who is in a role."""
    notes = [line for line in one.notes() if "is compared with nothing" not in line]
    return [*findings([one]), *map(str, moved(kept(), one.found)), *notes]


CODES = {"N": "E", "E": "N", "X": "N", "NA": "PW", "G": "D", "DATABASE": "SCHEMA"}
"""Values that stand for something: another that does."""


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if value is None:
        return "7"
    if isinstance(value, bool) or value in (0, 1):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, datetime.date):
        return value + datetime.timedelta(days=400)
    return CODES.get(str(value).strip(), f"zz{value}")


def changes() -> Iterator[tuple[str, str, tuple[int, int], list[Any]]]:
    """Question, column, place, and its rows with one value changed."""
    for place, question in answers().tables().items():
        columns, rows = answers().table(place)
        for number, column in enumerate(columns):
            first = {repr(row[number]): at for at, row in reversed(list(enumerate(rows)))}
            places = [*sorted(first.values()), *(at for at in range(len(rows)))]
            for at in list(dict.fromkeys(places))[:ROWS]:
                row = rows[at]
                changed = (*row[:number], other(row[number]), *row[number + 1 :])
                yield question, column, place, [*rows[:at], changed, *rows[at + 1 :]]


def test_as_installed_nothing_is_said():
    assert said(answers().look()) == []


def test_every_value_of_the_catalog_is_named_when_it_is_another():
    named: Counter[tuple[str, str]] = Counter()
    tried: Counter[tuple[str, str]] = Counter()
    for question, column, place, rows in changes():
        tried[question, column] += 1
        named[question, column] += bool(said(answers().look(place, rows)))
    unnamed = {each for each in tried if not named[each]}
    partly = {each for each in tried if 0 < named[each] < tried[each]}
    assert len(tried) > 190 and (not full() or tried.total() > 6_500)
    assert unnamed - NEVER.keys() - PARTLY.keys() == set()
    assert partly - PARTLY.keys() == set()
    assert named.keys() & NEVER.keys() <= {each for each in named if not named[each]}


LESS = {
    "objects": "tables, modules and queues are asked for by questions of their own",
    "triggers": "those of our schema are modules",
    "sequential": "an index that is not on it is one that is not marked",
    "DeploymentText": "what is compared with; verify says when there is nothing",
    "DeploymentAttempt": "how long the last one took",
}


def test_every_row_that_is_gone_is_named():
    for place, question in answers().tables().items():
        rows = answers().table(place)[1]
        if question in LESS or question in ("database", "options"):
            continue  # these two: one row, or the server is no server
        for at in range(0, len(rows), max(1, len(rows) // SAME_ROWS)):
            less = [*rows[:at], *rows[at + 1 :]]
            assert said(answers().look(place, less)), (question, rows[at])


MORE: dict[str, dict[str, Any]] = {
    # a row that no file makes, for the questions that have none of ours; the rest are copies
    "members": {"member": "audit_module", "role": "db_datareader"},
    "members of roles": {"member": "somebody", "role": "audit_sender"},
    "memberships": {"member": "joe", "role": "db_owner", "is_fixed_role": True},
    "other schemas": {"name": "theirs", "owner": "audit_module"},
    "objects": {"name": "Elsewhere", "type": "SN", "owner": None},
    "checks": {
        "owner": "Landing",
        "name": "CK_x",
        "definition": "([MessageSequence]>(0))",
        "is_disabled": False,
        "is_not_trusted": False,
        "is_not_for_replication": False,
    },
    "foreign keys": {"name": "FK", "schema_name": "x", "owner": "T", "to_table": "Landing"},
    "statistics": {"owner": "Landing", "name": "theirs", "user_created": True},
    "triggers": {"schema_name": "theirs", "name": "Watch", "owner": "Landing"},
    "run as ours": {"schema_name": "dbo", "name": "Theirs", "who": "audit_module"},
    "xml schemas": {"name": "theirs"},
    "database triggers": {"name": "nodrop", "is_disabled": False, "digest": "AB"},
    "remote service bindings": {
        "name": "theirs",
        "owner": "dbo",
        "remote_service_name": "x",
        "remote_user": "y",
        "is_anonymous_on": False,
    },
    "security policies": {"schema_name": "theirs", "name": "Filter", "owner": "Landing"},
    "Migration": {"Number": 7},
}
COPIED = {
    "principals": "an older signing certificate's user; others are not asked for",
    "schema": "one row",
    "database": "one row",
    "options": "one row",
    "sequential": "marks rows of another question",
    "index columns": "belongs to a row of another question",
    "marks": "marks rows of other questions; others' marks are in test_verify",
    "OwnedObject": "more may be there: kept of earlier choices",
    "DeploymentHistory": "the last row is asked for",
    "DeploymentText": "what is compared with",
    "DeploymentAttempt": "how long the last one took",
}
"""Questions to which no row more can come, or need be named."""


def _named_otherwise(columns: list[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A copy of a row under another name."""
    for word in ("name", "Name", "ConfigId", "module", "service", "contract", "permission_name"):
        if word in columns:
            at = columns.index(word)
            return (*row[:at], other(row[at]), *row[at + 1 :])
    raise AssertionError(columns)


def test_every_row_more_is_named():
    for place, question in answers().tables().items():
        columns, rows = answers().table(place)
        if question in COPIED:
            continue
        if question in MORE:
            row = tuple(MORE[question].get(column) for column in columns or MORE[question])
            if question == "Migration":
                continue  # asked only where there is a table with rows: test_verify has one
        else:
            row = _named_otherwise(columns, rows[0])
        assert said(answers().look(place, [*rows, row])), question


def test_every_question_is_tried():
    """A question without a row here would be one whose columns nobody has changed."""
    empty = {name for place, name in answers().tables().items() if not answers().table(place)[1]}
    assert empty & set(NAMES) == set(MORE) & empty & set(NAMES)
    assert (set(MORE) | set(COPIED) | set(LESS)) <= {*NAMES, *answers().tables().values()}


NOT_ASKED = {
    "another view, or an older name, of what is asked for": (
        r"all_\w+|parameters|procedures|views|foreign_key_columns|key_constraints|stats_columns"
        r"|sequences|synonyms|service_queue_usages|\w+_dependencies|trigger_events|masked_columns"
        r"|\w+_usages|periods|period_columns|security_policies|\w+_event_types|securable_classes"
        r"|hash_indexes|json_index\w*|vector_indexes|xml_indexes|selective_xml_index_paths"
        r"|spatial_ind\w+|filetable\w*|external_tables|sys[a-z]+(?<!policies)|sysdac_instances"
        r"|remote_data_archive_tables|edge_constraint\w*|system_\w+|partition_parameters"
    ),
    "nothing of an installation is of that kind, and none can belong to it": (
        r"assembl\w+|fulltext_\w+|registered_search\w+|change_tracking_databases|external_\w+"
        r"|column_(en\w+|master_keys|store_\w+)|xml_schema_\w+|extended_procedures|ledger_\w+"
        r"|data_spaces|destination_data_spaces|filegroups|partition_\w+|allocation_units"
        r"|internal_(tables|partitions)|\w*symmetric_keys|key_encryptions|openkeys|messages"
        r"|database_(credentials|scoped_credentials|ledger\w+|filestream_options)|master_key_passwords"
        r"|function_order_columns|memory_optimized_\w+|cryptographic_providers|index_resumable\w+"
    ),
    "not asked yet, for the embedded broker has none and it could not be tried": (
        r"numbered_procedure\w*|plan_guides|sensitivity_classifications|change_tracking_tables"
        r"|database_scoped_configurations|database_audit_spec\w+|database_query_store\w+"
    ),
    "what is at work, not how it is made": (
        r"conversation_(endpoints|groups)|transmission_queue|(login|user)_token|query_\w+|traces?\w*"
        r"|database_(mirroring\w*|recovery_status|usage|connection_stats|event_\w+|automatic\w+"
        r"|service_objectives|firewall_rules)|resource_\w+|elastic_\w+|bandwidth_usage|event_log"
        r"|event_stream_groups|geo_replication_links|database_files"
    ),
    "of the server or of another product, not of one database": (
        r"(server|sql)_\w+|servers|configurations|endpoints|\w+_endpoints|endpoint_webmethods"
        r"|master_files|linked_logins|remote_(logins|data_archive_databases)|credentials|backup_devices"
        r"|availability_\w+|pdw_\w+|workload_\w+|firewall_rules|trusted_assemblies|time_zone_info"
        r"|spatial_reference_systems|syscollector_\w+|sysmail_\w+|syspolicy_\w+"
    ),
}
"""Why a view of the catalog is not asked, and the names of such views."""


def test_every_view_that_is_not_asked_has_its_reason():
    """A view that a later page documents is in none of the lists, and fails here."""
    asked_for = set(re.findall(r"\bsys\.(\w+) AS", QUESTIONS.read_text("utf-8")))
    known = documented.names("views") | {name for schema, name in SYSTEM_VIEWS if schema == "sys"}
    views = {name.lower() for name in known if not name.startswith("dm_")} - asked_for
    reasons = {
        view: [why for why, names in NOT_ASKED.items() if re.fullmatch(names, view)]
        for view in views
    }
    assert {view for view, found in reasons.items() if not found} == set()
    assert {why for found in reasons.values() for why in found} == NOT_ASKED.keys()


SAME = re.compile(
    r"_desc$|^(create|modify)_date$|^(object|parent_object|schema|parent)_id$|^is_ms_shipped$"
    r"|^is_(schema_)?published$|^(system|user)_type_id$|^type$"
)
"""Columns that only say again, or by number, what another one says, or when."""
_LIKE_A_COLUMN = (
    "max_length precision scale collation_name is_nullable is_ansi_padded is_rowguidcol is_identity "
    "is_computed is_filestream is_replicated is_non_sql_subscribed is_merge_published "
    "is_dts_replicated is_xml_document xml_collection_id default_object_id rule_object_id is_sparse "
    "is_column_set generated_always_type is_hidden is_masked"
)
UNASKED = {
    "all_columns": (f"column_id {_LIKE_A_COLUMN}", "asked only whether a column is there"),
    "asymmetric_keys": (
        "principal_id asymmetric_key_id pvt_key_encryption_type algorithm key_length sid string_sid "
        "public_key attested_by provider_type cryptographic_provider_guid cryptographic_provider_algid",
        "none is ours: only a name to call one by",
    ),
    "certificates": (
        "issuer_name cert_serial_number sid string_sid subject start_date attested_by "
        "pvt_key_last_backup_date key_length",
        "for people; the public key says which it is, and the others are in it",
    ),
    "check_constraints": (
        "principal_id parent_column_id uses_database_collation is_system_named",
        "the condition and the name say it",
    ),
    "columns": ("is_computed", "the expression is asked for"),
    "computed_columns": (
        f"name {_LIKE_A_COLUMN} uses_database_collation",
        "none is ours, and one of somebody's is a column in excess",
    ),
    "conversation_endpoints": (
        "conversation_handle conversation_id service_contract_id conversation_group_id "
        "service_id lifetime far_broker_instance principal_id far_principal_id "
        "outbound_session_key_identifier inbound_session_key_identifier "
        "security_timestamp dialog_timer send_sequence last_send_tran_id "
        "end_dialog_sequence receive_sequence receive_sequence_frag system_sequence "
        "first_out_of_order_sequence last_out_of_order_sequence last_out_of_order_frag "
        "is_system priority",
        "asked only how many of a notification are alive",
    ),
    "conversation_priorities": ("priority_id", "a number of the server's"),
    "crypt_properties": (
        "crypt_type crypt_property",
        "the bytes of a signature: the server checks them",
    ),
    "database_principals": (
        "sid authentication_type default_language_name "
        "default_language_lcid allow_encrypted_value_modifications",
        "numbers of the server's; languages: messages are dates and texts of ours",
    ),
    "databases": (
        "source_database_id collation_name user_access is_auto_shrink_on state is_in_standby "
        "is_cleanly_shutdown is_supplemental_logging_enabled snapshot_isolation_state recovery_model "
        "page_verify_option is_auto_create_stats_on is_auto_update_stats_on "
        "is_auto_update_stats_async_on is_fulltext_enabled is_query_store_on is_subscribed "
        "is_merge_published is_distributor is_sync_with_backup log_reuse_wait is_date_correlation_on "
        "is_encrypted replica_id group_database_id default_language_name containment "
        "target_recovery_time_in_seconds delayed_durability",
        "of backups, files, statistics and other products: no message is another one by them",
    ),
    "default_constraints": (
        "principal_id parent_column_id is_system_named",
        "the column says which is its default",
    ),
    "event_notifications": ("creator_sid principal_id", "whoever deployed first"),
    "events": ("is_trigger_event", "a notification is none"),
    "foreign_keys": (
        "principal_id key_index_id is_disabled is_not_for_replication is_not_trusted "
        "delete_referential_action update_referential_action is_system_named",
        "none is ours: one of somebody's is in excess whatever it does",
    ),
    "identity_columns": (f"name {_LIKE_A_COLUMN} last_value", "asked of columns; data"),
    "index_columns": (
        "partition_ordinal column_store_order_ordinal",
        "ours are no column stores, and partitions are counted",
    ),
    "indexes": (
        "data_space_id is_ignored_in_optimization has_filter compression_delay "
        "suppress_dup_key_messages auto_created",
        "which filegroup: the DBA's; the filter is asked for; the others are of column stores, of "
        "hypothetical indexes, of IGNORE_DUP_KEY, of Azure",
    ),
    "partitions": (
        "partition_id partition_number hobt_id rows filestream_filegroup_id data_compression "
        "xml_compression",
        "numbers of the server's and data; XML compression is of XML columns, ours are varbinary",
    ),
    "remote_service_bindings": (
        "remote_service_binding_id service_contract_id",
        "CREATE has no way to name a contract",
    ),
    "routes": ("route_id principal_id", "whoever made it"),
    "security_predicates": (
        "security_predicate_id predicate_definition predicate_type operation",
        "none is ours: one of somebody's is in excess whatever it does",
    ),
    "service_queues": ("principal_id", "asked of objects"),
    "sql_modules": (
        "is_schema_bound uses_database_collation is_recompiled null_on_null_input "
        "uses_native_compilation is_inlineable",
        "they stand in the text",
    ),
    "stats": (
        "auto_created has_filter filter_definition is_temporary has_persisted_sample "
        "stats_generation_method auto_drop",
        "of our indexes only the options; those of somebody's are in excess",
    ),
    "table_types": (
        "principal_id max_length precision scale collation_name is_nullable is_user_defined "
        "is_assembly_type default_object_id rule_object_id is_table_type",
        "asked of types; of table types the columns count",
    ),
    "tables": (
        "principal_id lob_data_space_id filestream_data_space_id max_column_id_used "
        "has_unchecked_assembly_data lock_escalation history_table_id",
        "the owner is asked of objects; where large values lie is the DBA's; the others follow",
    ),
    "triggers": (
        "is_not_for_replication is_instead_of_trigger",
        "they stand in the text",
    ),
    "types": (
        "max_length precision scale collation_name is_nullable is_user_defined is_assembly_type "
        "default_object_id rule_object_id",
        "of table types the columns count",
    ),
    "xml_schema_collections": ("principal_id", "its text is the user's own"),
}
"""Of a view, the columns verification does not ask for, and why it need not."""


def test_every_column_that_is_not_asked_has_its_reason():
    """A column that a later version of the catalog has, and nobody has thought of, fails here."""
    asked_for: dict[str, set[str]] = {}
    for part in QUESTIONS.read_text("utf-8").split(";\n"):
        views = {alias: view for view, alias in re.findall(r"sys\.(\w+) AS (\w+)", part)}
        for alias, column in re.findall(r"\b(\w+)\.(\w+)\b", part):
            if alias in views:
                asked_for.setdefault(views[alias], set()).add(column)
    assert len(asked_for) > 25
    left = {
        view: {
            column.name
            for column in SYSTEM_VIEWS["sys", view].columns
            if column.name not in columns and not SAME.search(column.name)
        }
        for view, columns in asked_for.items()
    }
    known = {view: set(names.split()) for view, (names, _) in UNASKED.items()}
    assert {view: columns for view, columns in left.items() if columns} == known


def test_what_has_the_name_of_something_of_ours_hides_nothing():
    """A table named as the schema, an index named as a table: all that is beside them is named."""
    site = Site(Lab())
    site.run(
        "CREATE USER bob WITHOUT LOGIN; GRANT CONTROL ON SCHEMA::audit TO bob; "
        "GRANT IMPERSONATE ON USER::audit_module TO bob; GRANT DELETE ON audit.Landing TO bob; "
        "ALTER TABLE audit.Landing ADD extra int; "
        "EXECUTE (N'CREATE TRIGGER audit.steal ON audit.Landing AFTER INSERT AS RETURN;');"
    )
    before = len(site.findings())
    site.run(
        "CREATE INDEX Landing ON audit.Landing (LandedUtc); CREATE TABLE audit.audit (i int); "
        "CREATE TABLE audit.audit_module (i int);"
    )
    assert (before, len(site.findings())) == (5, 8)

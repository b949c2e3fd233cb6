"""A look at an installation: is everything there, switched on, and as configured?"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from harness.config import Config
from harness.deploy.port import Connect
from harness.render import render
from harness.render.quoting import literal, quote_name


def verify(config: Config, connect: Connect) -> list[str]:
    """Findings, one sentence each with the next command; an empty list means all is well."""
    with closing(connect()) as connection:
        connection.autocommit = True
        return [
            *_database(connection),
            *_objects(connection, config),
            *_queues(connection, config),
            *_settings(connection, config),
            *_principal(connection, config),
        ]


def _rows(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """All rows of one query."""
    with closing(connection.cursor()) as cursor:
        return [tuple(row) for row in cursor.execute(sql).fetchall()]


def _database(connection: Any) -> list[str]:
    """Broker on?"""
    rows = _rows(
        connection, "SELECT is_broker_enabled FROM sys.databases WHERE database_id = DB_ID();"
    )
    if rows and rows[0][0]:
        return []
    return ["Service Broker is off in this database. Next: invoke deploy."]


def _objects(connection: Any, config: Config) -> list[str]:
    """Every table, procedure, queue, service and the contract."""
    wanted = [(kind, name) for kind, name in _schema_objects(config)]
    findings = []
    for kind, name in wanted:
        full = f"{quote_name(config.schema_name)}.{quote_name(name)}"
        if _rows(connection, f"SELECT OBJECT_ID({literal(full)}, N'{kind}');") == [(None,)]:
            findings.append(f"{full} is missing. Next: invoke deploy.")
    for view, name in (
        ("services", config.services.initiator),
        ("services", config.services.target),
        ("service_contracts", config.contract.name),
        *(("service_message_types", t.name) for t in config.all_message_types),
    ):
        if not _rows(connection, f"SELECT name FROM sys.{view} WHERE name = {literal(name)};"):
            findings.append(f"{name!r} is missing in sys.{view}. Next: invoke deploy.")
    return findings


def _schema_objects(config: Config) -> list[tuple[str, str]]:
    """Type code (sys.objects) and name of what the schema must hold."""
    found = [("SQ", config.queues.initiator), ("SQ", config.queues.target)]
    for file in render(config):
        parts = file.split(".")
        if len(parts) == 3 and parts[1] in ("table", "procedure"):
            name = parts[0].split("_", 1)[1].lstrip("0123456789").lstrip("_")
            found.append(("U" if parts[1] == "table" else "P", name))
    return found


def _queues(connection: Any, config: Config) -> list[str]:
    """Queues on, activation on, the number of readers as configured."""
    findings = []
    for queue, readers in (
        (config.queues.initiator, config.initiator.readers),
        (config.queues.target, config.target.readers),
    ):
        full = f"{quote_name(config.schema_name)}.{quote_name(queue)}"
        rows = _rows(
            connection,
            "SELECT is_receive_enabled, is_activation_enabled, max_readers FROM sys.service_queues "
            f"WHERE object_id = OBJECT_ID({literal(full)}, N'SQ');",
        )
        if not rows:
            continue
        if not rows[0][0]:
            findings.append(f"{full} is off. Next: find out why in ErrorLog, then ALTER QUEUE.")
        if not rows[0][1]:
            findings.append(f"{full} has no activation. Next: invoke deploy.")
        if rows[0][2] != readers:
            findings.append(f"{full} has {rows[0][2]} readers, not {readers}. Next: invoke deploy.")
    return findings


def _settings(connection: Any, config: Config) -> list[str]:
    """Modules created with the wrong SET options fail later, inside activation (F-103)."""
    schema = literal(config.schema_name)
    rows = _rows(
        connection,
        "SELECT o.name FROM sys.sql_modules AS m INNER JOIN sys.objects AS o "
        f"ON o.object_id = m.object_id WHERE o.schema_id = SCHEMA_ID({schema}) "
        "AND (m.uses_ansi_nulls = 0 OR m.uses_quoted_identifier = 0);",
    )
    return [
        f"{name} was created with ANSI_NULLS or QUOTED_IDENTIFIER off. Next: invoke deploy."
        for (name,) in rows
    ]


def _principal(connection: Any, config: Config) -> list[str]:
    """Outside db_owner the module user sees no pending message and ends no dialog (F-113)."""
    module = config.roles.module
    rows = _rows(connection, f"SELECT IS_ROLEMEMBER(N'db_owner', {literal(module)});")
    if rows and rows[0][0] == 1:
        return []
    return [
        f"{module!r} is not a member of db_owner, so no ended dialog is closed. "
        f"Next: ALTER ROLE db_owner ADD MEMBER {quote_name(module)};"
    ]

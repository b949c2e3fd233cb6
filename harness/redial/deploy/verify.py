"""A look at an installation: is everything there, switched on, and as configured?"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from redial.config import Config
from redial.config.choices import Signing
from redial.deploy.apply import installation, use
from redial.deploy.errors import DeployError
from redial.deploy.fingerprint import CannotSee, Thing, compare, found, next_step, wanted
from redial.deploy.port import Connect
from redial.render import Side, render, sides, signed_modules
from redial.render.quoting import literal, quote_name


def verify(config: Config, connect: Connect) -> list[str]:
    """Findings, one sentence each with the next command; an empty list means all is well."""
    files = render(config)
    with closing(connect()) as connection:
        connection.autocommit = True
        findings: list[str] = []
        apart = config.target.database is not None
        home = _rows(connection, "SELECT DB_NAME();")[0][0] if apart else ""
        for here in sides(config):
            if apart:
                try:
                    use(connection, home if here.initiator else config.target.database or "")
                except DeployError as error:
                    findings.append(f"{error.text} Next: invoke deploy.")
                    continue
            own = {
                name.removeprefix(here.folder): files[name]
                for name in files
                if name.startswith(here.folder) and "/" not in name.removeprefix(here.folder)
            }
            from_sender = {} if here.initiator else files
            findings += [
                *_database(connection),
                *_differences(connection, config, own, from_sender),
                *_principal(connection, config, own),
                *(_other_database(connection, config, here) if here.apart else ()),
            ]
        return findings


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


def _differences(
    connection: Any, config: Config, files: dict[str, str], from_sender: dict[str, str]
) -> list[str]:
    """Everything that is not as the files of this database make it, in both directions.

    from_sender: files of the sender's database, which make something here too.
    """
    schema = config.schema_name
    as_written = wanted({name: files[name] for name in installation(files)}, schema)
    as_written |= wanted(
        {name: text for name, text in from_sender.items() if name in installation(from_sender)},
        schema,
        elsewhere=True,
    )
    try:
        there = found(connection, schema, as_written)
    except CannotSee as error:
        return [str(error)]
    if Thing("schema", schema) not in there:
        return [f"there is no schema {quote_name(schema)} in this database. Next: redial deploy."]
    lines = [
        f"{difference}. Next: {next_step(difference, schema)}"
        for difference in compare(as_written, there)
        if difference.thing != Thing("role membership", "db_owner", config.roles.module)
    ]
    return lines


def _principal(connection: Any, config: Config, files: dict[str, str]) -> list[str]:
    """Outside db_owner nobody sees what is in transport (F-113) or cleans up what is CLOSED."""
    module = config.roles.module
    rows = _rows(connection, f"SELECT IS_ROLEMEMBER(N'db_owner', {literal(module)});")
    member = bool(rows) and rows[0][0] == 1
    if config.security.signing == Signing.NONE:
        if member or not config.roles.module_is_db_owner:
            return []
        return [
            f"{module!r} is not a member of db_owner, so vw_Pending is empty and usp_EndLeaked "
            f"cleans nothing up. Next: ALTER ROLE db_owner ADD MEMBER {quote_name(module)};"
        ]
    findings = (
        [
            f"{module!r} is a member of db_owner; a deployment stopped before it had signed "
            "the procedures. Next: invoke deploy."
        ]
        if member
        else []
    )
    schema = literal(config.schema_name)
    signed = {
        name
        for (name,) in _rows(
            connection,
            "SELECT OBJECT_NAME(cp.major_id) FROM sys.crypt_properties AS cp INNER JOIN "
            "sys.certificates AS ct ON ct.thumbprint = cp.thumbprint WHERE cp.class = 1 "
            f"AND OBJECT_SCHEMA_NAME(cp.major_id) = {schema} AND ct.pvt_key_encryption_type = 'NA';",
        )
    }
    return findings + [
        f"{quote_name(config.schema_name)}.{quote_name(name)} is not signed, so it lacks the "
        "rights of db_owner it needs. Next: invoke deploy."
        for name in signed_modules(files)
        if name not in signed
    ]


def _other_database(connection: Any, config: Config, here: Side) -> list[str]:
    """What leads to the other side: its certificate, and at the sender binding and route."""
    other = literal(here.other_key)
    wanted = {"sys.certificates": "the certificate of the other database"}
    if here.initiator:
        wanted |= {
            "sys.remote_service_bindings": "the remote service binding",
            "sys.routes": "the route to the target's database",
        }
    findings = [
        f"{text}, {here.other_key!r}, is missing. Next: invoke deploy."
        for view, text in wanted.items()
        if not _rows(connection, f"SELECT name FROM {view} WHERE name = {other};")
    ]
    if not here.initiator:
        return findings
    database = literal(config.target.database or "")
    if not findings and not _rows(
        connection,
        "SELECT r.name FROM sys.routes AS r INNER JOIN sys.databases AS d ON r.broker_instance = "
        f"CONVERT(nvarchar(36), d.service_broker_guid) WHERE r.name = {other} "
        f"AND d.name = {database};",
    ):
        findings.append(
            f"the route {here.other_key!r} leads to a broker that is not database "
            f"{config.target.database!r} (any more). Next: invoke deploy."
        )
    return findings + [
        f"messages wait for the target's database: {status} Next: docs/facts.md, F-251."
        for (status,) in _rows(
            connection,
            "SELECT DISTINCT tq.transmission_status FROM sys.transmission_queue AS tq WHERE "
            f"tq.from_service_name = {literal(config.services.initiator)} "
            "AND tq.transmission_status <> N'';",
        )
    ]

"""A look at an installation: is everything there, switched on, and as configured?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from redial.config import Config
from redial.config.choices import Signing
from redial.deploy.apply import installation, use
from redial.deploy.errors import DeployError
from redial.deploy.fingerprint import (
    CannotSee,
    Catalog,
    Difference,
    Thing,
    compare,
    found,
    next_step,
    wanted,
)
from redial.deploy.fingerprint.repair import DEPLOY, LOCAL_ROUTE
from redial.deploy.port import Connect
from redial.render import Side, render, sides, signed_modules
from redial.render.quoting import literal, quote_name


@dataclass(frozen=True)
class Look:
    """What was seen in one database of an installation."""

    database: str
    wanted: Catalog
    """By the files."""
    found: Catalog
    """Empty where nothing could be seen."""
    differences: list[Difference]
    others: list[str]
    """Findings that are no difference of the catalog, each with its next step."""
    unseen: bool = False
    """Nothing could be looked at: ``others`` says why."""

    @property
    def installed(self) -> bool:
        """Whether there is anything of the configuration."""
        return any(thing.kind == "schema" for thing in self.found)


def verify(config: Config, connect: Connect, files: Mapping[str, str] | None = None) -> list[str]:
    """Findings, one sentence each with the next command; an empty list means all is well.

    files: as rendered; None renders them. Raises the driver's errors.
    """
    findings: list[str] = []
    for one in look(config, connect, files):
        findings += one.others
        if one.installed:
            findings += [
                f"{difference}. Next: {next_step(difference, config.schema_name)}"
                for difference in one.differences
            ]
    return findings


def look(config: Config, connect: Connect, files: Mapping[str, str] | None = None) -> list[Look]:
    """Each database of an installation beside its files. Raises the driver's errors."""
    rendered = dict(files) if files is not None else render(config)
    looks = []
    with closing(connect()) as connection:
        connection.autocommit = True
        apart = config.target.database is not None
        home = _rows(connection, "SELECT DB_NAME();")[0][0]
        for here in sides(config):
            if apart:
                database = home if here.initiator else config.target.database or ""
                try:
                    use(connection, database)
                except DeployError as error:
                    looks.append(Look(database, {}, {}, [], [f"{error.text} Next: {DEPLOY}"], True))
                    continue
            looks.append(_side(connection, config, here, rendered))
    return looks


def _side(connection: Any, config: Config, here: Side, files: dict[str, str]) -> Look:
    """One database. The sender's files make something in the target's, too."""
    schema = config.schema_name
    own = {
        name.removeprefix(here.folder): files[name]
        for name in files
        if name.startswith(here.folder) and "/" not in name.removeprefix(here.folder)
    }
    as_written = wanted({name: own[name] for name in installation(own)}, schema)
    if not here.initiator:
        senders = {name: files[name] for name in installation(files)}
        as_written |= wanted(senders, schema, elsewhere=True)
    as_written[LOCAL_ROUTE] = {}
    if here.apart and here.initiator:
        as_written[Thing("route", here.other_key)] = {}  # 62_03 makes it by a text of its own
    others = [
        *_database(connection),
        *_principal(connection, config, own),
        *(_other_database(connection, config, here) if here.apart else ()),
    ]
    database = _rows(connection, "SELECT DB_NAME();")[0][0]
    try:
        there = found(connection, schema, as_written)
    except CannotSee as error:
        return Look(database, as_written, {}, [], [str(error)], True)
    if Thing("schema", schema) not in there:
        others = [f"there is no schema {quote_name(schema)} in this database. Next: redial deploy."]
    differences = [
        difference
        for difference in compare(as_written, there)
        if difference.thing != Thing("role membership", "db_owner", config.roles.module)
    ]
    return Look(database, as_written, there, differences, others)


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

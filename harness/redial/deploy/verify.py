"""A look at an installation: is everything there, switched on, and as configured?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from redial.config import Config
from redial.config.choices import Signing
from redial.deploy.apply import installation, looking, use
from redial.deploy.errors import DeployError
from redial.deploy.fingerprint import (
    CannotSee,
    Catalog,
    Difference,
    Found,
    Known,
    Thing,
    compare,
    found,
    moved,
    read,
    wanted,
)
from redial.deploy.fingerprint.compare import WAS
from redial.deploy.fingerprint.exchanges import with_exchanges
from redial.deploy.fingerprint.keys import DATABASE, exchanged, needed
from redial.deploy.fingerprint.lookers import looking_rights
from redial.deploy.fingerprint.model import MEMBER, OPTION, REMOVED
from redial.deploy.fingerprint.repair import DEPLOY
from redial.deploy.fingerprint.turns import in_turn
from redial.deploy.hook import hook_misses
from redial.deploy.port import Connect
from redial.deploy.whole import told
from redial.quoting import visible
from redial.render import Side, render, sides, signed_modules, signer_prefix
from redial.render.quoting import literal, quote_name

MOVE = (
    "An earlier version has written so into the database. Next: redial baseline --accept --reason "
    "'...', which moves it into sql/accepted.toml"
)
"""Of a difference that the file does not know."""
NO_DATABASE, NO_USER = 911, 916
"""There is no database of that name; the login has no user in it (sys.messages)."""


@dataclass(frozen=True)
class Look:
    """What was seen in one database of an installation."""

    database: str
    home: bool
    """Whether it is the sender's, where a deployment's connection, its lock and its history are."""
    wanted: Catalog
    """By the files."""
    found: Catalog
    """Empty where nothing could be seen."""
    differences: list[Difference]
    others: list[str]
    """Findings that are no difference of the catalog, each with its next step."""
    unseen: bool = False
    """Nothing could be looked at: ``others`` says why."""
    version: str = ""
    """The server's @@VERSION."""
    seconds: int | None = None
    """How long the last deployment took; None: not known."""
    unfinished: bool = False
    """Whether it has written its row, and was cut off or failed behind that."""
    server: str = ""
    """Its name."""
    accepted: tuple[Difference, ...] = ()
    """Differences that somebody has accepted: in the project's file, or once in the database."""
    reasons: Mapping[Difference, str] = field(default_factory=dict)
    """Of those that the file accepts, where it does so and why."""
    remarks: tuple[str, ...] = ()
    """What is to be said of the file (``accepting``)."""
    kept: Catalog | None = None
    """Surroundings as they were kept; None: they were not, so there is nothing to compare with."""
    unread: bool = False
    """They were, and cannot be read: that is a finding."""
    schema: str = ""
    """Of the configuration."""
    known: frozenset[str] = frozenset()
    """Keys of all that the database has accepted (``Difference.key``)."""

    @property
    def installed(self) -> bool:
        """Whether there is anything of the configuration."""
        return Thing("schema", self.schema) in self.found

    def notes(self) -> list[str]:
        """What is no finding and is said all the same: what was not judged, and why."""
        if self.unseen or not self.installed:
            return []
        members: dict[str, list[str]] = {}
        for thing in sorted(self.found):
            if thing.kind == MEMBER:
                members.setdefault(thing.of, []).append(thing.name)
        said = [f"in role {role}, not judged: {', '.join(who)}" for role, who in members.items()]
        lookers = sorted(set(looking_rights(self.found).values()))
        said += [f"may look, not judged: {', '.join(lookers)}"] * bool(lookers)
        said += [_off(own["off"]) for own in self.found.values() if own.get("off")]
        said += [f"accepted: {each}. {self.reasons.get(each, MOVE)}" for each in self.accepted]
        said = [*map(visible, said), *self.remarks]
        if self.kept is None and not self.unread:
            said.append(
                f"what surrounds it {AROUND} is compared with nothing: no deployment has kept it. "
                "Next: redial baseline"
            )
        return said


def _off(job: str) -> str:
    """What is said of an Agent job that somebody has switched off."""
    return (
        f"agent job {job} is switched off, and a deployment leaves it so: what it does is not done. Next: "
        f"EXECUTE msdb.dbo.sp_update_job @job_name = {literal(job)}, @enabled = 1;"
    )


def home_of(looks: Iterable[Look]) -> Look:
    """The look at the sender's database."""
    return next(one for one in looks if one.home)


def verify(config: Config, connect: Connect, files: Mapping[str, str] | None = None) -> list[str]:
    """Findings, one sentence each with the next command; an empty list means all is well.

    files: as rendered; None renders them. Raises the driver's errors.
    """
    return findings(look(config, connect, files))


def findings(looks: Iterable[Look]) -> list[str]:
    """What is wrong in each database, with its next step."""
    seen, found = list(looks), []
    uninstalled = removed(seen)
    for one in seen:
        said = list(one.others)
        if one.installed and uninstalled:
            said = [UNINSTALLED]
        elif one.installed:
            said += [told(one, difference) for difference in in_turn(one.differences)]
            said += left(one)
        found += [f"in {one.database}: {line}" for line in said]
    return found


def left(one: Look) -> list[str]:
    """Findings that no deployment does anything about, and no statement undoes."""
    return [UNREAD] * (one.unread and one.home) + hook_misses(one.schema, one.wanted, one.found)


AROUND = "(options of the database, rights on it, its triggers)"
UNREAD = (
    f"what the last deployment kept of what surrounds it {AROUND} cannot be read, so nobody can say what has "
    "changed since. Who may: db_owner. Next: look at what surrounds it, then redial baseline"
)
GONE, ANEW = "it was uninstalled", "redial deploy, which installs it again"
UNINSTALLED = (
    f"{GONE}, and what is left are its tables, schema, roles and user. Who may: db_owner. "
    f"Next: {ANEW}; or redial uninstall --purge-data, which drops the rest"
)
"""Instead of a line for everything that is not there."""


def removed(looks: Iterable[Look]) -> bool:
    """Whether an uninstall was the last, and has come to its end."""
    ours = [one.found.get(Thing("deployment", "last"), {}) for one in looks if one.home]
    left = any(one.unseen or thing.kind == "queue" for one in looks for thing in one.found)
    return not left and any(own.get("version") == REMOVED for own in ours)


def look(config: Config, connect: Connect, files: Mapping[str, str] | None = None) -> list[Look]:
    """Each database of an installation beside its files. Raises the driver's errors."""
    with looking(connect, config) as connection:
        return look_over(config, connection, files)


def look_over(
    config: Config, connection: Any, files: Mapping[str, str] | None = None
) -> list[Look]:
    """The same over a connection, which comes back to its own database: two round trips for each."""
    rendered = dict(files) if files is not None else render(config)
    seen: list[_Seen] = []
    apart = config.target.database is not None
    home = _rows(connection, "SELECT DB_NAME();")[0][0] if apart else ""
    for here in sides(config):
        database = (config.target.database or "") if apart and not here.initiator else home
        try:
            if apart:
                use(connection, database)
        except DeployError as error:
            seen.append(_Seen(here, database, {}, None, [_closed(error, database)]))
            continue
        seen.append(_seen(connection, config, here, rendered, database))
    if apart:
        use(connection, home)
    exchanged(
        [one.wanted for one in seen],
        [one.catalog for one in seen],
        [(one.here.own_key, one.here.other_key) for one in seen],
    )
    known = read(next((one.found.known for one in seen if one.found and one.here.initiator), ""))
    return [_judged(one, config, known, place) for place, one in enumerate(seen)]


@dataclass(frozen=True)
class _Seen:
    """One database, before the sides are compared with each other."""

    here: Side
    database: str
    wanted: Catalog
    found: Found | None
    """None: nothing could be looked at."""
    others: list[str]
    version: str = ""
    """The server's @@VERSION, where nothing else could be seen."""

    @property
    def catalog(self) -> Catalog:
        return self.found.catalog if self.found else {}


def _closed(error: DeployError, database: str) -> str:
    """Why the target's database could not be looked at, and what helps."""
    quoted = quote_name(database)
    help_ = {
        NO_DATABASE: f"redial deploy --create makes it, or CREATE DATABASE {quoted};",
        NO_USER: f"in {quoted}, its owner: CREATE USER .. FOR LOGIN .., for the login you come with.",
    }
    return f"{error.text} Next: {help_.get(error.number or 0, DEPLOY)}"


def files_of_side(files: Mapping[str, str], here: Side) -> dict[str, str]:
    """The files of one database."""
    return {
        name.removeprefix(here.folder): files[name]
        for name in files
        if name.startswith(here.folder) and "/" not in name.removeprefix(here.folder)
    }


def _seen(
    connection: Any, config: Config, here: Side, files: dict[str, str], database: str
) -> _Seen:
    """One database. The sender's files make something in the target's, too."""
    schema = config.schema_name
    own = files_of_side(files, here)
    as_written = wanted({name: own[name] for name in installation(own)}, schema)
    if not here.initiator:
        senders = {name: files[name] for name in installation(files)}
        as_written |= wanted(senders, schema, elsewhere=True)
    as_written |= needed(config, here, signed_modules(own))
    further = [_is_owner(config), *([_waiting(config)] if here.apart else [])]
    try:
        there = found(connection, schema, as_written, signer_prefix(config), further)
    except CannotSee as error:
        where = database or error.database
        return _Seen(here, where, as_written, None, [str(error)], error.version)
    [[owner], *waiting] = there.rows
    others = _member(config, owner["owner"] == 1)
    others += [
        f"messages wait for the target's database: {row['status']} Next: docs/facts.md, F-251."
        for rows in waiting
        for row in rows
    ]
    if Thing("schema", schema) not in there.catalog:
        others = [f"there is no schema {quote_name(schema)} in this database. Next: redial deploy."]
    return _Seen(here, database or there.database, as_written, there, others)


def _judged(one: _Seen, config: Config, known: Known, place: int) -> Look:
    """What differs. Of the module user in db_owner ``_member`` says more than a difference would.

    place: of the database among those of the configuration.
    """
    schema = config.schema_name
    if one.found is None:
        return Look(
            one.database,
            one.here.initiator,
            one.wanted,
            {},
            [],
            one.others,
            True,
            one.version,
            schema=schema,
        )
    kept = known.of(place, one.catalog)
    differences = [
        difference
        for difference in with_exchanges(
            compare(one.wanted, one.catalog, kept or {}), one.wanted, one.catalog
        )
        if difference.thing != Thing("role membership", "db_owner", config.roles.module)
    ]
    if kept is not None:
        differences = _once(differences, moved(kept, one.catalog))
    accepted = tuple(each for each in differences if each.key(place) in known.accepted)
    return Look(
        one.database,
        one.here.initiator,
        one.wanted,
        one.catalog,
        [each for each in differences if each not in accepted],
        one.others,
        version=one.found.version,
        server=one.found.server,
        seconds=one.found.seconds,
        unfinished=one.found.unfinished,
        accepted=accepted,
        kept=kept,
        unread=known.unread,
        schema=schema,
        known=known.accepted,
    )


def _once(differences: list[Difference], since: list[Difference]) -> list[Difference]:
    """Both, but of an option that must not be as it is only that: it goes back to what it was."""
    was = {each.thing.name: each.wanted for each in since if each.thing.kind == OPTION}
    ours = {each.what for each in differences if each.thing == DATABASE}
    said = [
        replace(each, has=each.has | {WAS: was[each.what]})
        if each.thing == DATABASE and each.what in was
        else each
        for each in differences
    ]
    return said + [
        each for each in since if each.thing.kind != OPTION or each.thing.name not in ours
    ]


def _rows(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """All rows of one query."""
    with closing(connection.cursor()) as cursor:
        return [tuple(row) for row in cursor.execute(sql).fetchall()]


def _is_owner(config: Config) -> str:
    """Whether the module user is in db_owner."""
    return f"SELECT IS_ROLEMEMBER(N'db_owner', {literal(config.roles.module)}) AS owner;"


def _member(config: Config, member: bool) -> list[str]:
    """Outside db_owner nobody sees what is in transport (F-113); in it, who may ALTER is db_owner."""
    module = config.roles.module
    signed = config.security.signing == Signing.CERTIFICATE
    if member and signed:
        return [
            f"{module!r} is a member of db_owner; a deployment stopped before it had signed "
            "the procedures. Who may: db_owner. Next: redial deploy."
        ]
    if member and not config.roles.module_is_db_owner:
        return [
            f"{module!r} is a member of db_owner, so whoever may ALTER one of its procedures is "
            "in effect db_owner. Who may: db_owner. Next: redial deploy, which takes it out."
        ]
    if member or signed or not config.roles.module_is_db_owner:
        return []
    return [
        f"{module!r} is not a member of db_owner, so vw_Pending is empty. Who may: db_owner. "
        f"Next: ALTER ROLE db_owner ADD MEMBER {quote_name(module)};"
    ]


def _waiting(config: Config) -> str:
    """Why messages for the other database are still here."""
    return (
        "SELECT DISTINCT tq.transmission_status AS status FROM sys.transmission_queue AS tq "
        f"WHERE tq.from_service_name = {literal(config.services.initiator)} "
        "AND tq.transmission_status <> N'';"
    )

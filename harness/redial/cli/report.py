"""``redial report``: one page on an installation, and the same figures beside it as JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from redial.cli.accepted import accepted
from redial.cli.configs import load_named
from redial.cli.doctor_site import Site, known_in, place_of, trouble_of
from redial.cli.errors import UserError, command, quoted, waits
from redial.cli.history import HIDDEN
from redial.cli.installing import reviewed
from redial.cli.server import named_server, open_server
from redial.cli.whole import replace_whole
from redial.config import Config
from redial.deploy import connect_odbc
from redial.deploy.accepting import NOTHING_ACCEPTED, Accepted, accept
from redial.deploy.apply import looking
from redial.deploy.fingerprint.lookers import rights_to_look
from redial.deploy.history import deployments
from redial.deploy.mending import tried
from redial.deploy.verify import findings, look
from redial.operate import doctor
from redial.operate.doctor import Place, Status
from redial.operate.report.accounts import accounting
from redial.operate.report.asking import Asking, Facts, Server, collect
from redial.operate.report.flow import Look, throughput
from redial.operate.report.life import dead_letters, life
from redial.operate.report.model import Page, Section, Table, Unseen, many, utc
from redial.operate.report.page import as_json, doctor_section, doctor_unseen, html, text
from redial.version import VERSION

HOURS = 24
LONGEST = 24 * 366
"""Hours of a period."""
ROWS = 10
"""Deployments and attempts that are shown."""
SHORT = 12
"""Characters of a content hash."""


@dataclass(frozen=True)
class Asked:
    """What a report is to be about."""

    model: Config
    odbc: str
    """Leads to the sender's database."""
    since: int | None = None
    """Begin of the period, milliseconds since 1970 of the server's clock; None: ``hours`` ago."""
    hours: int = HOURS
    wait_seconds: int = 60
    files: Mapping[str, str] | None = None
    """What ought to be there; None: what is rendered from the configuration."""
    no_files: UserError | None = None
    """Why there are none."""
    stays: Accepted = NOTHING_ACCEPTED
    """Differences that are accepted."""
    first: tuple[Section, ...] = ()
    """Sections in front of ours, of somebody who knows more."""
    watched: Sequence[Look] = ()
    """Moments of the period that somebody counted."""


@command
def report(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    out: str | None = None,
    hours: int = HOURS,
    wait_seconds: int = 60,
) -> int:
    """Write the page and the JSON beside it; the status is a number of ``Status``, as doctor's."""
    waits(wait_seconds)
    if not 1 <= hours <= LONGEST:
        raise UserError(f"--hours {hours}", "is no period", f"use 1 to {LONGEST}")
    model = load_named(config)
    path = _path(out or f"{model.name}-report.html")
    named = named_server(server, must_be_named=True)
    place = place_of(named, database)
    files, no_files, stays = None, None, NOTHING_ACCEPTED
    try:
        files, stays = reviewed(model.name, model, None), accepted()
    except UserError as error:
        no_files = error
    try:
        with open_server(
            named, database, must_be_named=True, labelled=False, config=model
        ) as target:
            asked = Asked(model, target.odbc, None, hours, wait_seconds, files, no_files, stays)
            page = made(asked)
    except Exception as error:
        trouble = trouble_of(error, place)
        if trouble is None:
            raise
        print(f"{trouble}\nnothing was written to {quoted(path)}", file=sys.stderr)
        return Status.NOT_ALL
    beside = write(page, path)
    print(text(page), end="")
    print(f"page: {path}\nfigures: {beside}")
    return page.status


def _path(out: str) -> Path:
    """Where the page goes. Raises UserError."""
    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--out {out}", "is the name of no page", f"--out {quoted(out + '.html')}")
    if not path.parent.is_dir():
        raise UserError(f"--out {out}", f"there is no folder {path.parent}", "make it first")
    return path


def write(page: Page, path: Path) -> Path:
    """Write the page, and the JSON beside it, whose path is returned: each whole, or not at all.

    Raises UserError.
    """
    beside = path.with_suffix(".json")
    for file, said in ((beside, as_json(page)), (path, html(page))):
        replace_whole(file, said)
    return beside


def made(asked: Asked) -> Page:
    """Ask all there is to ask. Raises UserError where nothing is installed, and the driver's errors."""
    model = asked.model
    site = Site(model, asked.odbc, None, asked.wait_seconds)
    facts, servers, troubles = _facts(asked, site)
    findings_ = doctor.Report(model.name, tuple(site.looked_at(known_in(model))))
    home = servers[0][0]
    sections = [
        *asked.first,
        accounting(model, facts),
        throughput(model, facts, asked.watched),
        life(facts, findings_.looks),
        dead_letters(facts),
    ]
    unseen = [*troubles, *facts.unseen]
    for what, section in (("drift", _drift), ("deployments", _history)):
        try:
            found, hidden = section(asked, home)
            sections.append(found)
            unseen += hidden
        except Exception as error:
            trouble = trouble_of(error, home)
            if trouble is None:
                raise
            unseen.append(Unseen(home, what, trouble.why, trouble.next))
    sections.append(doctor_section(findings_))
    unseen += doctor_unseen(findings_)
    label = servers[0][1].label
    return Page(model.name, label, _about(asked, facts, servers), tuple(sections), tuple(unseen))


def _facts(asked: Asked, site: Site) -> tuple[Facts, list[tuple[Place, Server]], list[Unseen]]:
    """What both databases answer, who they are, and why one of them is not asked."""
    model, troubles = asked.model, []
    servers: list[tuple[Place, Server]] = []
    with ExitStack() as stack:
        asking: list[Asking | None] = []
        for place, database in site.places():
            try:
                connection = stack.enter_context(site.connected(database))
                one = Asking(connection, model, place, asked.wait_seconds)
                servers.append((place, one.server()))
                if not servers[-1][1].installed:
                    raise _not_installed(model, place)
                asking.append(one)
            except Exception as error:
                trouble = trouble_of(error, place)
                if trouble is None or not asking:
                    raise
                what = "everything of the target's side: what landed, and its dead letters"
                troubles.append(Unseen(place, what, trouble.why, trouble.next))
                asking.append(None)
        now = servers[0][1].now
        since = now - asked.hours * 3_600_000 if asked.since is None else asked.since
        facts = Facts(now, since)
        assert asking[0] is not None
        collect(facts, model, asking[0], asking[-1])
    return facts, servers, troubles


def _not_installed(model: Config, place: Place) -> UserError:
    return UserError(
        f"configuration {model.name} on {place}",
        f"schema {model.schema_name} has no ConversationLog: it is not installed, or this login may see "
        "nothing of it",
        f"redial deploy --config {quoted(model.name)}; or let a member of db_owner add this login's user "
        f"to the role {model.roles.operator}",
    )


def _about(
    asked: Asked, facts: Facts, servers: Sequence[tuple[Place, Server]]
) -> tuple[tuple[str, str], ...]:
    """The head of the page."""
    place, home = servers[0]
    said = [
        ("configuration", asked.model.name),
        ("server", f"{place.server} ({home.name})" if home.name else place.server),
        ("database", home.database),
    ]
    if asked.model.target.database:
        said.append(("target's database", asked.model.target.database))
    version = f"{home.edition}, version {home.version}"
    said += [
        ("what it is", f"{home.label}; it answers as {version}" if home.label else version),
        ("redial", VERSION),
        ("made", f"{utc(facts.now)} UTC, by the server's clock"),
        ("asked by", home.login),
        ("period", f"{utc(facts.since)} to {utc(facts.now)} UTC"),
    ]
    return tuple(said)


def _drift(asked: Asked, home: Place) -> tuple[Section, list[Unseen]]:
    """What redial verify finds. Raises UserError, DeployError, the driver's errors."""
    if asked.no_files:
        raise asked.no_files
    looks = look(asked.model, connect_odbc(asked.odbc), asked.files)
    looks = accept(looks, asked.model.name, asked.stays)
    hidden = [
        Unseen(Place(home.server, one.database), "drift", *_parted(line))
        for one in looks
        if one.unseen
        for line in one.others
    ]
    found = findings(one for one in looks if not one.unseen)
    first = "Nothing differs from the files" if not hidden else "Not all of it could be compared"
    if found:
        first = f"{many(len(found), 'difference')} from the files"
    lines = tuple((line,) for line in found)
    tables = [Table("differences", "What redial verify finds", ("finding",), lines)]
    notes = tuple(line for one in looks for line in one.notes())
    status = Status.WARNINGS if found else Status.CLEAN
    return Section(
        "drift", "Drift", (first, *notes), status, tuple(tables) if found else ()
    ), hidden


def _parted(line: str) -> tuple[str, str]:
    """Cause and next step of a finding."""
    why, _, next = line.partition(" Next: ")
    return why, next


def _history(asked: Asked, home: Place) -> tuple[Section, list[Unseen]]:
    """The last deployments and attempts. Raises DeployError, the driver's errors."""
    model = asked.model
    with looking(connect_odbc(asked.odbc), model) as connection:
        done = deployments(connection, model.schema_name)
        attempts = tried(connection, model)
    hidden = []
    if attempts is None:
        rights = rights_to_look(model.schema_name, "this login's user")
        hidden = [
            Unseen(home, "deployment attempts", HIDDEN, f"let a member of db_owner run: {rights}")
        ]
    rows = tuple(
        (one.number, f"{one.when:%Y-%m-%d %H:%M:%S}", one.version, one.content[:SHORT], one.by)
        for one in reversed(done[-ROWS:])
    )
    head = ("number", "when, UTC", "version", "content", "by")
    tables = [Table("deployed", f"Deployments, the last {len(rows)} of {len(done)}", head, rows)]
    known = attempts or []
    lines = tuple(
        (
            one.number,
            f"{one.started:%Y-%m-%d %H:%M:%S}",
            one.what,
            one.outcome,
            one.by,
            one.host,
            one.message,
        )
        for one in reversed(known[-ROWS:])
    )
    if lines:
        names = ("number", "begun, UTC", "what", "outcome", "by", "from", "message")
        tables.append(
            Table("tried", f"Attempts, the last {len(lines)} of {len(known)}", names, lines)
        )
    first = f"{many(len(done), 'deployment')}"
    if done:
        first += f", the last {done[-1].when:%Y-%m-%d %H:%M:%S} UTC by {done[-1].by}"
    return Section("history", "Deployments", (first,), tables=tuple(tables) if rows else ()), hidden

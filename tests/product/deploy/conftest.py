"""A broker over TCP with configuration audit in it; each test goes back to how it was deployed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from redial.cli.deploy import deploy
from redial.config import Config
from redial.deploy import Connect, apply, connect_odbc
from redial.deploy.history import Story, content_of
from redial.paths import GENERATED
from redial.project import Project
from redial.render import read
from redial.render.modules import CONTENTS, FINISH, places_in
from redial.render.quoting import quote_name
from redial.render.renderer import SUMS
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed
from tests.waiting import HANGS

SITE = "site"


def status_of(function: Callable[..., Any], **options: Any) -> int:
    """Exit status of a command for configuration audit."""
    try:
        function("audit", **options)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def run(server: str, sql: str) -> list[tuple]:
    """Run a batch on a server."""
    with closing(connect_odbc(server)()) as connection:
        cursor = connection.cursor().execute(sql)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


@contextmanager
def two_databases(home: str, other: str) -> Iterator[tuple[EmbeddedBroker, Connect]]:
    """A broker with two empty databases, and connections to the first."""
    with EmbeddedBroker() as broker, unprobed(broker.call(lambda instance: instance.server)):
        with closing(connect_odbc(broker.odbc)()) as connection:
            for name in (home, other):
                connection.cursor().execute(f"CREATE DATABASE {quote_name(name)};")
        yield broker, connect_odbc(with_database(broker.odbc, home))


def logged_in_as(server: str, login: str, password: str) -> str:
    """The same server for another login."""
    return re.sub(
        r"UID=[^;]*;PWD=(\{[^}]*\}|[^;]*)", lambda _: f"UID={login};PWD={{{password}}}", server
    )


REDIAL = [sys.executable, "-c", "from redial.cli.main import main; main()"]


def killed_at(arguments: list[str], place: str, folder: Path) -> int:
    """Run redial in a process of its own and kill it when it names a place; its exit status.

    folder: where it runs.
    """
    process = subprocess.Popen(
        [*REDIAL, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if place in line:
            process.kill()
            break
    return process.wait(HANGS)


class Cut(BaseException):
    """The client is gone."""


def cut_off(config: Config, server: str, folder: Path, prefix: str) -> None:
    """Deploy a folder of files until one of those names comes, and no further."""

    def stop(name: str, number: int, total: int) -> None:
        if name.startswith(prefix):
            raise Cut

    files = read(folder)
    said = Story("deploy", content_of(files, config.schema_name))
    with pytest.raises(Cut):
        apply(config, connect_odbc(server), stop, files=files, story=said)


def another_revision(folder: Path, module: str) -> Path:
    """Make the files in a folder those of a later revision, in which one procedure says more."""
    places = places_in((folder / CONTENTS).read_text("utf-8"))
    [place] = [one for name, one in places.items() if f"_{module}.procedure." in name]
    file = folder / place.file
    lines = file.read_text("utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if n > place.first and "SET NOCOUNT ON;" in line)
    lines[at] = lines[at].replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* later */", 1)
    file.write_text("\n".join(lines), "utf-8")
    said = folder / FINISH
    said.write_text(re.sub(r"[0-9a-f]{64}", "ab" * 32, said.read_text("utf-8")), "utf-8")
    return summed(folder)


def summed(folder: Path) -> Path:
    """Write the digests of a folder's files anew, as whoever renders them does."""
    sums = folder / SUMS
    names = [line.split("  ", 1)[1] for line in sums.read_text("utf-8").splitlines()]
    lines = [f"{hashlib.sha256((folder / one).read_bytes()).hexdigest()}  {one}\n" for one in names]
    sums.write_text("".join(lines), "utf-8")
    return folder


@dataclass
class Site:
    """The broker, and connection strings to two databases: one deployed to, one empty."""

    broker: EmbeddedBroker
    server: str
    empty: str

    def restart(self, moment: Any) -> None:
        self.broker.call(lambda _: moment.restore())


@pytest.fixture(scope="session")
def whole_site() -> Iterator[Site]:
    with EmbeddedBroker() as broker, unprobed(broker.call(lambda instance: instance.server)):
        run(broker.odbc, f"CREATE DATABASE {SITE};")
        run(broker.odbc, "CREATE DATABASE bare;")
        server = with_database(broker.odbc, SITE)
        assert status_of(deploy, server=server) == 0
        yield Site(broker, server, with_database(broker.odbc, "bare"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder of its own, with the shipped configurations."""
    root = tmp_path / "project"
    for part in ("configs", "generated"):
        shutil.copytree(GENERATED.parent / part, root / "sql" / part)
    for module in ("installing", "adopting", "configs", "accepted", "older"):
        monkeypatch.setattr(f"redial.cli.{module}.project", lambda: Project(root))
    return root


@pytest.fixture
def site(whole_site: Site) -> Iterator[Site]:
    moment = whole_site.broker.call(lambda instance: instance.snapshot())
    yield whole_site
    whole_site.restart(moment)


@pytest.fixture
def day(monkeypatch):
    """The day by which ``until`` is judged."""
    said = {"today": date(2026, 11, 28)}
    monkeypatch.setattr("redial.cli.accepted.today", lambda: said["today"])
    return said


@pytest.fixture
def granted(site, project):
    """Somebody may read Landing, and the project knows nothing of it."""
    run(site.server, "CREATE USER joe WITHOUT LOGIN; GRANT SELECT ON audit.Landing TO joe;")
    return site

"""sqlcmd itself, where it is on the PATH (go-sqlcmd or the ODBC one): what a DBA types, its exit status."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyodbc
import pytest

from redial.cli.variables import SETTINGS, write
from redial.paths import GENERATED
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.instance.instance import PASSWORD, USER
from tests.waiting import HANGS

FILES = sorted((GENERATED / "audit").glob("[0-9]_*.sql"))
SQLCMD = shutil.which("sqlcmd")
NUMBERS = itertools.count(1)

pytestmark = pytest.mark.skipif(
    SQLCMD is None,
    reason="no sqlcmd on the PATH: how it cuts is tested by its rule (test_runners.py)",
)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(clock="real") as running:
        yield running


@pytest.fixture
def database(broker) -> str:
    """An empty one of the test's own."""
    name = f"d{next(NUMBERS)}"
    with closing(pyodbc.connect(broker.odbc, autocommit=True)) as sa:
        sa.execute(f"CREATE DATABASE {name};")
    return name


def sqlcmd(broker: EmbeddedBroker, database: str, *options: str) -> tuple[int, str]:
    """Exit status, and what it printed."""
    server = broker.jdbc.split("//")[1].split(";")[0].replace(":", ",")
    done = subprocess.run(
        [str(SQLCMD), "-S", server, "-U", USER, "-C", "-d", database, *options],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        env=os.environ | {"SQLCMDPASSWORD": PASSWORD},
    )
    return done.returncode, done.stdout + done.stderr


def rows(broker: EmbeddedBroker, database: str, sql: str) -> list[tuple]:
    with closing(pyodbc.connect(with_database(broker.odbc, database), autocommit=True)) as there:
        return [tuple(row) for row in there.execute(sql).fetchall()]


def all_files(files: list[Path]) -> list[str]:
    """As sqlcmd takes several in one call."""
    return ["-i", ",".join(map(str, files))]


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> Path:
    """The files with their name a variable."""
    folder = tmp_path_factory.mktemp("named") / "files"
    write(folder)
    return folder


@pytest.mark.parametrize("options", [["-b"], []], ids=["-b", "without"])
def test_it_installs_and_again_changes_nothing(broker, database, options):
    for _ in range(2):
        status, said = sqlcmd(broker, database, *options, *all_files(FILES))
        assert status == 0 and "installed." in said, said
    made = "SELECT MIN(CONVERT(int, uses_quoted_identifier)) FROM sys.sql_modules;"
    assert rows(broker, database, made) == [(1,)]  # sqlcmd connects with it off


def test_one_call_for_each_file_installs_too(broker, database):
    for file in FILES:
        status, said = sqlcmd(broker, database, "-b", "-i", str(file))
        assert status == 0, said
    assert "installed." in said


@pytest.mark.parametrize("options", [["-b"], []], ids=["-b", "without"])
def test_an_error_is_an_exit_status_that_is_not_0_and_nothing_is_done(broker, database, options):
    with closing(pyodbc.connect(broker.odbc, autocommit=True)) as sa:
        sa.execute(f"ALTER DATABASE {database} SET COMPATIBILITY_LEVEL = 120;")
    status, said = sqlcmd(broker, database, *options, *all_files(FILES))
    assert status != 0 and "50223" in said and "SET COMPATIBILITY_LEVEL = 130" in said
    assert rows(broker, database, "SELECT name FROM sys.tables;") == []
    status, said = sqlcmd(broker, database, *options, "-i", str(FILES[1]))
    assert status != 0 and "50233" in said
    with closing(pyodbc.connect(broker.odbc, autocommit=True)) as sa:
        sa.execute(f"ALTER DATABASE {database} SET COMPATIBILITY_LEVEL = 150;")
    status, said = sqlcmd(broker, database, *options, *all_files(FILES))
    assert status == 0 and "installed." in said


def test_a_name_comes_by_v_and_one_that_is_missing_stops_it(broker, database, named):
    files = sorted(named.glob("[0-9]_*.sql"))
    status, said = sqlcmd(broker, database, *all_files(files))
    assert status != 0 and "name" in said
    assert rows(broker, database, "SELECT name FROM sys.tables;") == []
    status, said = sqlcmd(broker, database, "-b", "-v", "name=billing", *all_files(files))
    assert status == 0 and "configuration billing: installed" in said, said
    assert rows(broker, database, "SELECT OBJECT_SCHEMA_NAME(MIN(object_id)) FROM sys.tables;") == [
        ("billing",)
    ]


def test_a_file_of_settings_beats_v(broker, database, named, tmp_path):
    """What F-585 says of :setvar, so there are no defaults in the files."""
    own = tmp_path / "own.sql"
    text = (named / SETTINGS).read_text("utf-8")
    own.write_text(text.replace(":r ", f":r {named}/"), "utf-8")
    status, said = sqlcmd(broker, database, "-b", "-v", "name=other", "-i", str(own))
    assert status == 0 and "configuration messages: installed." in said, said

"""Flyway and Liquibase run the files as docs/howto says, also where they must be refused; with --full."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyodbc
import pytest
from platformdirs import user_cache_path

from redial.paths import DOCS, GENERATED
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.instance.instance import PASSWORD, USER
from tests.waiting import HANGS

HERE = Path(__file__).with_name("runners")
JARS = user_cache_path("redial") / "runners" / "flyway-11.8.2-liquibase-4.31.1"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FILES = sorted((GENERATED / "audit").glob("[0-9]_*.sql"))
FLYWAY = (DOCS / "howto" / "deploy-with-flyway.md").read_text("utf-8")
CHANGELOG = """\
<?xml version="1.0" encoding="UTF-8"?>
<databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
        http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
{change}
</databaseChangeLog>
"""

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.nightly("two tools in Java, a minute"),
]


@pytest.fixture(scope="module")
def jars() -> Path:
    """Flyway, Liquibase and Microsoft's driver, fetched once with Maven; says why they are not there."""
    if shutil.which("java") is None:
        pytest.skip("no java on this machine")
    if not list(JARS.glob("liquibase-core-*.jar")):
        maven = shutil.which("mvn")
        if maven is None:
            pytest.skip("no mvn to fetch Flyway and Liquibase with")
        try:
            done = subprocess.run(
                [maven, "-q", "-B", "-f", str(HERE / "pom.xml"), COPY, f"-DoutputDirectory={JARS}"],
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            pytest.skip(f"mvn could not fetch Flyway and Liquibase: {error}")
        if done.returncode:
            pytest.skip(f"mvn could not fetch Flyway and Liquibase: {done.stdout[-300:]}")
    return JARS


def page(name: str, language: str) -> str:
    """The first block of a language on a page of docs/howto."""
    text = (DOCS / "howto" / f"deploy-with-{name}.md").read_text("utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text, re.S)
    assert found
    return found[1]


def for_flyway(folder: Path, as_said: bool = True) -> None:
    """The migrations and, as the page says, two lines of configuration beside each."""
    said = re.search(r"printf '([^']*)' > \"migrations/(\w+)", page("flyway", "sh"))
    assert said and f'cp "$file" "migrations/{said[2]}' in page("flyway", "sh")
    for file in FILES:
        (folder / f"{said[2]}{file.name}").write_text(file.read_text("utf-8"), "utf-8")
        if as_said:
            conf = folder / f"{said[2]}{file.name}.conf"
            conf.write_text(said[1].replace("\\n", "\n"), "utf-8")


def for_liquibase(folder: Path, as_said: bool = True) -> None:
    """The change set of the page, once for each file."""
    change = page("liquibase", "xml")
    assert FILES[0].name in change and '"redial-audit-0"' in change
    if not as_said:
        change = change.replace(' runInTransaction="false"', "")
    changes = [
        change.replace(FILES[0].name, file.name).replace("audit-0", f"audit-{file.name[0]}")
        for file in FILES
    ]
    (folder / "changelog.xml").write_text(CHANGELOG.format(change="".join(changes)), "utf-8")
    for file in FILES:
        (folder / file.name).write_text(file.read_text("utf-8"), "utf-8")


TOOLS: dict[str, Callable[..., None]] = {"flyway": for_flyway, "liquibase": for_liquibase}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(clock="real") as running:
        yield running


def connection(broker: EmbeddedBroker, database: str = "master") -> pyodbc.Connection:
    return pyodbc.connect(with_database(broker.odbc, database), autocommit=True)


def run(broker: EmbeddedBroker, jars: Path, tool: str, *places: tuple[str, Path]) -> dict[str, str]:
    """The tool on each database with its folder; what it said of each, ``ok`` when it was content."""
    given = [text for database, folder in places for text in (database, str(folder))]
    done = subprocess.run(
        [
            "java",
            "-cp",
            f"{jars}/*",
            str(HERE / "Migrate.java"),
            tool,
            broker.jdbc,
            USER,
            PASSWORD,
            *given,
        ],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    said = dict(re.findall(r"^RESULT (\S+) (.*)$", done.stdout, re.M))
    assert len(said) == len({name for name, _ in places}), done.stderr[-2000:]
    return said


def installed(broker: EmbeddedBroker, database: str) -> int:
    """Rows of the history there: what 9_finish.sql writes when all is well."""
    with closing(connection(broker, database)) as there:
        if there.execute("SELECT OBJECT_ID(N'audit.DeploymentHistory');").fetchval() is None:
            return 0
        rows: int = there.execute("SELECT COUNT(*) FROM audit.DeploymentHistory;").fetchval()
        return rows


@pytest.mark.parametrize("tool", TOOLS)
def test_it_installs_once_stops_where_it_must_and_finishes_when_that_is_mended(
    broker, jars, tool, tmp_path
):
    good, wrong = tmp_path / "good", tmp_path / "wrong"
    for folder in (good, wrong):
        folder.mkdir()
        TOOLS[tool](folder, as_said=folder != wrong)
    names = {name: f"{tool}_{name}" for name in ("plain", "inside", "level", "locked")}
    with closing(connection(broker)) as sa:
        for name in names.values():
            sa.execute(f"CREATE DATABASE {name};")
        sa.execute(f"ALTER DATABASE {names['level']} SET COMPATIBILITY_LEVEL = 120;")
    with closing(connection(broker, names["locked"])) as other:
        other.execute("EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session';")
        folders = {"plain": good, "inside": wrong, "level": good, "locked": good}
        said = run(broker, jars, tool, *((names[name], of) for name, of in folders.items()))
    assert said[names["plain"]] == "ok" and installed(broker, names["plain"]) == 1
    if tool == "flyway":  # it sees ALTER DATABASE itself, before the file is asked
        assert "both transactional and non-transactional" in said[names["inside"]]
        assert installed(broker, names["inside"]) == 0
    else:  # its driver would begin one with the first statement, and the file is before that
        assert said[names["inside"]] == "ok" and installed(broker, names["inside"]) == 1
    assert "SET COMPATIBILITY_LEVEL = 130" in said[names["level"]]
    assert "A deployment of configuration audit is running" in said[names["locked"]]
    assert all(installed(broker, names[name]) == 0 for name in ("level", "locked"))
    # 2. mended, and the one that was there already: it is not run again
    with closing(connection(broker)) as sa:
        sa.execute(f"ALTER DATABASE {names['level']} SET COMPATIBILITY_LEVEL = 150;")
    assert "`flyway repair`" in FLYWAY
    command = "flyway repair" if tool == "flyway" else tool
    said = run(broker, jars, command, *((name, good) for name in names.values()))
    assert set(said.values()) == {"ok"}, said
    assert {installed(broker, name) for name in names.values()} == {1}

"""The examples of docs/callers do what they say, against every shipped configuration."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import uuid
from contextlib import closing

import pytest

from redial.cli.configs import chosen, load_named
from redial.deploy import apply, connect_odbc
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed
from tests.broker.tds.test_jdbc import driver_jar
from tests.waiting import HANGS

from .stage import CALLERS

pytestmark = pytest.mark.driver
CONFIGS = {name: load_named(name) for name in chosen(None)}
DATABASE = "caller_"
MODES = ("autocommit", "transaction", "batch")
FILES = ("send.py", "Send.java", "csharp/Send.cs")


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running, unprobed(running.call(lambda instance: instance.server)):
        yield running


@pytest.fixture(scope="module")
def servers(broker):
    """A database per configuration: name -> connection string for ODBC."""
    made = {}
    with closing(connect_odbc(broker.odbc)()) as connection:
        for name, config in CONFIGS.items():
            connection.execute(f"CREATE DATABASE {DATABASE}{name};")
            made[name] = with_database(broker.odbc, DATABASE + name)
            apply(config, connect_odbc(made[name]))
    return made


def key_of(name: str) -> str | None:
    return "customer 7" if CONFIGS[name].traits.named else None


def once(name: str) -> bool:
    return CONFIGS[name].conversation.delivery.value == "exactly_once"


def landed(server: str, schema: str, count: int) -> list[bytes]:
    """User messages in landing order, once there are as many (activation runs by itself)."""
    with closing(connect_odbc(server)()) as connection:
        for _ in range(20 * HANGS):
            rows = connection.execute(
                f"SELECT Body FROM [{schema}].Landing WHERE MessageType = ? ORDER BY RowVersion;",
                f"//redial/{schema}/event",
            ).fetchall()
            if len(rows) >= count:
                break
            connection.execute("WAITFOR DELAY '00:00:00.050';")
    return [row[0] for row in rows]


def empty(server: str, schema: str) -> None:
    with closing(connect_odbc(server)()) as connection:
        connection.execute(f"DELETE FROM [{schema}].Landing;")


def tried(command: list[str], server: str, name: str, mode: str) -> list[str]:
    """Three lines and then two through an example as its header says; the answers, without ids."""
    ids = [str(uuid.uuid4()) for _ in range(5)]
    lines = [f"{one} {mode} {n}\n" for n, one in enumerate(ids)]
    run = subprocess.run(
        [*command, server, name, key_of(name) or "-", mode, *(["once"] if once(name) else [])],
        input="".join([*lines[:3], "\n", *lines[3:]]),
        text=True,
        capture_output=True,
        timeout=HANGS,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, ""), run.stdout + run.stderr
    answers = [line.split() for line in run.stdout.splitlines()]
    assert [answer[1] for answer in answers] == ids
    return [answer[0] for answer in answers]


@pytest.mark.sampled(every=5, meets=("name", "mode"))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CONFIGS)
def test_python_sends_as_its_header_says(servers, name, mode):
    empty(servers[name], name)
    example = [sys.executable, str(CALLERS / "send.py")]
    assert tried(example, servers[name], name, mode) == ["ok"] * 5
    expected = [f"{mode} {n}".encode() for n in range(5)]
    assert sorted(landed(servers[name], name, 5)) == expected


@pytest.mark.jvm
@pytest.mark.sampled(every=3, last=False)  # the one with a key
@pytest.mark.parametrize(
    ("name", "mode"), [("orders", "transaction"), ("orders", "batch"), ("logging", "batch")]
)  # audit, etl: test_stories
def test_java_sends_as_its_header_says(servers, broker, name, mode):
    java = shutil.which("java")
    if java is None:
        pytest.skip("no java on this machine")
    empty(servers[name], name)
    example = [java, "-cp", str(driver_jar()), str(CALLERS / "Send.java")]
    url = f"{broker.jdbc};databaseName={DATABASE}{name}"
    assert tried(example, url, name, mode) == ["ok"] * 5
    expected = [f"{mode} {n}".encode() for n in range(5)]
    assert sorted(landed(servers[name], name, 5)) == expected


@pytest.mark.parametrize("name", CONFIGS)
def test_python_sends_a_batch_in_the_order_it_was_given(servers, python, name):
    empty(servers[name], name)
    bodies = [b"message %d" % place for place in range(20)]
    with closing(python.Redial(servers[name], name)) as redial:
        assert redial.transaction(lambda c: redial.batch(c, bodies, key_of(name))) == 20
    assert landed(servers[name], name, 20) == bodies


def test_python_rolls_the_message_back_with_the_work(servers, python):
    empty(servers["audit"], "audit")
    redial = python.Redial(servers["audit"], "audit")

    def fails(connection):
        redial.call(connection, b"never sent")
        raise ValueError("the work after it")

    with pytest.raises(ValueError, match="the work after it"):
        redial.transaction(fails)
    redial.send(b"sent")
    redial.close()
    assert landed(servers["audit"], "audit", 1) == [b"sent"]


def test_the_same_id_twice_lands_once(servers, python):
    empty(servers["etl"], "etl")
    message_id = uuid.uuid4()
    with closing(python.Redial(servers["etl"], "etl")) as redial:
        redial.send(b"1", None, message_id)
        redial.send(b"1", None, message_id)
        redial.transaction(
            lambda c: redial.batch(c, [b"1", b"2"], None, [message_id, uuid.uuid4()])
        )
    assert landed(servers["etl"], "etl", 2) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("number", "again"),
    [
        (1205, True),
        (1222, True),
        (3960, True),
        (50101, True),
        (50102, True),
        (50100, False),
        (50150, False),
        (50250, False),
        (547, False),
        (0, False),
    ],
)
@pytest.mark.parametrize("repeatable", [False, True])
def test_the_rules_of_the_page(python, number, again, repeatable):
    """What is unknown is done again only if that does no harm, and only where it could help."""
    error = python.pyodbc.Error(
        "42000",
        "[42000] [Microsoft][ODBC Driver 18 for SQL Server]"
        f"[SQL Server]words ({number}) (SQLExecDirectW)",
    )
    assert python.number_of(error) == number
    assert python.worth_another_try(error, repeatable=repeatable) is again
    unknown = python.Unknown("an earlier try may be there")
    unknown.__cause__ = error
    assert python.worth_another_try(unknown, repeatable=repeatable) is (again and repeatable)
    assert python.worth_another_try(python.Gone("nothing is there"), repeatable=repeatable)


def test_csharp_compiles_where_dotnet_is(tmp_path):
    dotnet = shutil.which("dotnet")
    if dotnet is None:
        pytest.skip("no dotnet on this machine: docs/callers/csharp was read, not compiled")
    shutil.copytree(CALLERS / "csharp", tmp_path / "csharp")
    for step in (["restore"], ["build", "--nologo", "--no-restore"]):
        run = subprocess.run(
            [dotnet, *step, str(tmp_path / "csharp")],
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        if run.returncode and step == ["restore"]:
            pytest.skip(f"NuGet's packages cannot be had: {run.stdout.strip()[-300:]}")
        assert run.returncode == 0, run.stdout[-2000:]


def text_of(file: str) -> str:
    return (CALLERS / file).read_text(encoding="utf-8")


def test_what_is_tried_again_is_one_list_with_the_same_reasons_in_every_language(python):
    entries = {
        "send.py": r'^    (\d+): "(.*)",$',
        "Send.java": r'^ +(\d+), "(.*)"[,)]',
        "csharp/Send.cs": r'^ +\[(\d+)\] = "(.*)",$',
    }
    for file in FILES:
        found = re.findall(entries[file], text_of(file), re.M)
        assert {int(number): reason for number, reason in found} == python.AGAIN, file


def statements(text: str) -> str:
    """T-SQL as one line: without layout, continued lines and the place of the id."""
    text = re.sub(r"\\\n\s*", "", text)
    return re.sub(r"\{begun\}|\{0\}|%d", "ID", re.sub(r"\s+", " ", text)).strip()


def test_the_statements_are_the_same_in_every_language():
    """BEGIN, COMMIT and the look at what is left, between three quotes in each of them."""
    written = {
        file: [
            statements(text)
            for text in re.findall(r'"""(.*?)"""', text_of(file), re.S)
            if re.search(r"(SELECT|COMMIT|ROLLBACK)\b.*;\s*\Z", text, re.S)
        ]
        for file in FILES
    }
    assert [len(found) for found in written.values()] == [3, 3, 3]
    assert written["send.py"] == written["Send.java"] == written["csharp/Send.cs"]


def test_what_the_examples_throw_is_in_the_register():
    register = (CALLERS.parent / "errors.md").read_text(encoding="utf-8")
    for file in FILES:
        thrown = re.findall(r"THROW (\d+)", text_of(file))
        assert thrown and all(f"| {number} |" in register for number in thrown), file

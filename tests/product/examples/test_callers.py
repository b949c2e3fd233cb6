"""The examples of docs/callers do what they say, against every shipped configuration."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import uuid
from contextlib import closing

import pytest

from redial import client
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
FILES = ("Send.java", "csharp/Send.cs")
"""The languages in which redial.client cannot be had: what it knows stands in them again."""


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
def test_the_client_sends_many_in_the_order_they_were_given(servers, name):
    empty(servers[name], name)
    bodies = [b"message %d" % place for place in range(20)]
    kind, connect = f"//redial/{name}/event", connect_odbc(servers[name])
    assert client.send_many(
        connect, bodies, schema=name, message_type=kind, key=key_of(name)
    ) == len(bodies)
    assert landed(servers[name], name, 20) == bodies


def test_no_key_where_one_is_needed_is_told_with_its_name(servers):
    """And is not tried again; nor a key where none is used."""
    once = client.Retry(sleep=lambda _: pytest.fail("a pause"))
    for name, key in (("orders", None), ("audit", "k")):
        with pytest.raises(client.NotSent, match="@key must") as told:
            client.send(connect_odbc(servers[name]), b"x", schema=name, key=key, retry=once)
        assert told.value.number == 50100


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


def test_what_is_tried_again_is_one_list_with_the_same_reasons_in_every_language():
    entries = {
        "Send.java": r'^ +(\d+), "(.*)"[,)]',
        "csharp/Send.cs": r'^ +\[(\d+)\] = "(.*)",$',
    }
    for file in FILES:
        found = re.findall(entries[file], text_of(file), re.M)
        assert {int(number): reason for number, reason in found} == client.AGAIN, file


def statements(text: str) -> str:
    """T-SQL as one line: without layout, continued lines and the place of the id."""
    text = re.sub(r"\\\n\s*", "", text)
    return re.sub(r"\{begun\}|\{0\}|%d", "ID", re.sub(r"\s+", " ", text)).strip()


def test_the_statements_are_those_of_the_client_in_every_language():
    """BEGIN, COMMIT and the look at what is left, between three quotes in each of them."""
    ours = [statements(text) for text in (client.BEGIN, client.COMMIT, client.LOOK)]
    written = {
        file: [
            statements(text)
            for text in re.findall(r'"""(.*?)"""', text_of(file), re.S)
            if re.search(r"(SELECT|COMMIT|ROLLBACK)\b.*;\s*\Z", text, re.S)
        ]
        for file in FILES
    }
    assert all(found == ours for found in written.values()), written


def test_what_the_examples_throw_is_in_the_register():
    register = (CALLERS.parent / "errors.md").read_text(encoding="utf-8")
    for file in FILES:
        thrown = re.findall(r"THROW (\d+)", text_of(file))
        assert thrown and all(f"| {number} |" in register for number in thrown), file

"""The examples of docs/callers do what they say, against every shipped configuration."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from harness.broker import EmbeddedBroker
from harness.cli.configs import load_named, names
from harness.deploy import apply, connect_odbc
from harness.scenarios.port import with_database

from ..tds.test_jdbc import driver_jar

pytestmark = pytest.mark.driver
CALLERS = Path(__file__).resolve().parents[2] / "docs" / "callers"
CONFIGS = {name: load_named(name) for name in names()}
DATABASE = "caller_"
OWN = b"a message in a transaction of its own"
WITH_WORK = b"committed or rolled back with the row above"
ONCE = b"lands once, however often it is sent"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture(scope="module")
def servers(broker):
    """A database per configuration: name -> factory of connections."""
    made = {}
    with closing(connect_odbc(broker.odbc)()) as connection:
        for name, config in CONFIGS.items():
            connection.execute(f"CREATE DATABASE {DATABASE}{name};")
            made[name] = with_database(broker.odbc, DATABASE + name)
            apply(config, connect_odbc(made[name]))
    return made


@pytest.fixture(scope="module")
def python():
    spec = importlib.util.spec_from_file_location("send", CALLERS / "send.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def key_of(name: str) -> str | None:
    return "customer 7" if CONFIGS[name].conversation.key.value == "application" else None


def expected(name: str) -> list[bytes]:
    once = CONFIGS[name].conversation.delivery.value == "exactly_once"
    return [OWN, WITH_WORK, *([ONCE] if once else [])]


def landed(server: str, schema: str, count: int) -> list[bytes]:
    """User messages in landing order, once there are as many (activation runs by itself)."""
    with closing(connect_odbc(server)()) as connection:
        for _ in range(200):
            rows = connection.execute(
                f"SELECT Body FROM [{schema}].Landing WHERE MessageType = ? ORDER BY RowVersion;",
                f"//redial/{schema}/event").fetchall()
            if len(rows) >= count:
                break
            connection.execute("WAITFOR DELAY '00:00:00.050';")
    return [row[0] for row in rows]


def empty(server: str, schema: str) -> None:
    with closing(connect_odbc(server)()) as connection:
        connection.execute(f"DELETE FROM [{schema}].Landing;")


@pytest.mark.parametrize("name", CONFIGS)
def test_python_sends_in_its_own_and_in_the_callers_transaction(servers, python, name):
    empty(servers[name], name)
    python.main(servers[name], name, key_of(name))
    assert sorted(landed(servers[name], name, len(expected(name)))) == sorted(expected(name))


@pytest.mark.parametrize("name", CONFIGS)
def test_python_sends_a_batch_in_the_order_it_was_given(servers, python, name):
    empty(servers[name], name)
    redial = python.Redial(servers[name], name)
    bodies = [b"message %d" % place for place in range(20)]
    sent = redial.transaction(lambda connection: redial.batch(connection, bodies, key_of(name)))
    assert sent == 20
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
    assert landed(servers["audit"], "audit", 1) == [b"sent"]


def test_python_never_retries_a_wrong_argument(servers, python):
    calls = []
    redial = python.Redial(servers["audit"], "audit")

    def wrong(connection):
        calls.append(1)
        redial.call(connection, b"x", key="there are no keys here")

    with pytest.raises(python.pyodbc.Error, match=r"\(50100\)"):
        redial.transaction(wrong)
    assert calls == [1]


@pytest.mark.parametrize("number", [50101, 50102, 1222])
def test_python_does_the_whole_transaction_again_where_that_helps(servers, python, number):
    empty(servers["audit"], "audit")
    calls = []
    redial = python.Redial(servers["audit"], "audit")
    raised = (f"THROW {number}, N'busy', 1;" if number > 50000 else
              "SET LOCK_TIMEOUT 1; UPDATE dbo.Held SET Id = 2;")
    with closing(connect_odbc(servers["audit"])()) as holder:
        holder.execute("DROP TABLE IF EXISTS dbo.Held; CREATE TABLE dbo.Held (Id int NOT NULL); "
                       "INSERT INTO dbo.Held VALUES (1); BEGIN TRANSACTION; "
                       "UPDATE dbo.Held SET Id = 3;")

        def work(connection):
            calls.append(1)
            redial.call(connection, b"again")
            if len(calls) == 1:
                connection.execute(raised)

        redial.transaction(work)
        holder.execute("ROLLBACK;")
    assert len(calls) == 2
    assert landed(servers["audit"], "audit", 1) == [b"again"]


@pytest.mark.parametrize(("number", "state", "repeatable", "again"), [
    (1205, "40001", False, True), (1222, "42000", False, True), (50101, "42000", False, True),
    (50102, "42000", False, True), (50100, "42000", True, False), (547, "23000", True, False),
    (0, "08S01", False, False), (0, "08S01", True, True),
])  # fmt: skip
def test_the_rules_of_the_page(python, number, state, repeatable, again):
    error = python.pyodbc.Error(state, f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server]"
                                       f"[SQL Server]words ({number}) (SQLExecDirectW)")
    assert python.worth_another_try(error, repeatable=repeatable) is again


@pytest.mark.jvm
@pytest.mark.parametrize("name", CONFIGS)
def test_java_does_the_same(servers, broker, name):
    java = shutil.which("java")
    if java is None:
        pytest.skip("no java on this machine")
    empty(servers[name], name)
    url = f"{broker.jdbc};databaseName={DATABASE}{name}"
    key = key_of(name)
    run = subprocess.run(
        [java, "-cp", str(driver_jar()), str(CALLERS / "Send.java"), url, name,
         *([key] if key else [])],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines() == ["wrong argument: 50100", "done"]
    assert sorted(landed(servers[name], name, len(expected(name)))) == sorted(expected(name))


def test_csharp_compiles_where_dotnet_is(tmp_path):
    dotnet = shutil.which("dotnet")
    if dotnet is None:
        pytest.skip("no dotnet on this machine: docs/callers/csharp was read, not compiled")
    shutil.copytree(CALLERS / "csharp", tmp_path / "csharp")
    run = subprocess.run([dotnet, "build", "--nologo", str(tmp_path / "csharp")],
                         capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-2000:]


def test_every_language_names_the_same_errors():
    """One rule in three languages: what is retried in one is retried in all."""
    for file in ("send.py", "Send.java", "csharp/Send.cs"):
        text = (CALLERS / file).read_text(encoding="utf-8")
        for number in ("50100", "50101", "50102", "1205", "1222"):
            assert number in text, file



"""The rendered scripts, deployed through ODBC on the embedded broker, as a DBA would."""

from contextlib import closing

import pytest

from redial.config import Config, load
from redial.deploy import DeployError, apply, connect_odbc, uninstall, verify
from redial.paths import CONFIGS
from redial.render import render
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed
from tests.installed import rendered

pytestmark = pytest.mark.driver
AUDIT = load(CONFIGS / "audit.toml")
HOSTILE = "o'[]]\"'; DROP TABLE x --/* 漢"
DATABASE = "deployed"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running, unprobed(running.call(lambda instance: instance.server)):
        yield running


@pytest.fixture
def connect(broker):
    """Connections to a fresh database."""
    with closing(connect_odbc(broker.odbc)()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE};")
        cursor.execute(f"CREATE DATABASE {DATABASE};")
    return connect_odbc(with_database(broker.odbc, DATABASE))


def rows(connect, sql: str) -> list[tuple]:
    with closing(connect()) as connection:
        return [tuple(row) for row in connection.cursor().execute(sql).fetchall()]


OBJECTS = """
    SELECT N'object', o.name FROM sys.objects AS o
    UNION ALL SELECT N'service', s.name FROM sys.services AS s
    UNION ALL SELECT N'contract', c.name FROM sys.service_contracts AS c
    UNION ALL SELECT N'type', m.name FROM sys.service_message_types AS m
    UNION ALL SELECT N'principal', p.name FROM sys.database_principals AS p
    UNION ALL SELECT N'schema', s.name FROM sys.schemas AS s
    ORDER BY 1, 2;
"""


def renamed(config: Config, name: str) -> Config:
    """The config with one hostile name everywhere a name is free."""
    text = {"initiator": f"{name}1", "target": f"{name}2"}
    return config.model_copy(
        update={
            "schema_name": name,
            "services": config.services.model_copy(update=text),
            "queues": config.queues.model_copy(update=text),
            "contract": config.contract.model_copy(
                update={"name": f"{name}3", "end_of_stream": f"{name}4"}
            ),
            "message_types": [
                t.model_copy(update={"name": f"{name}5"}) for t in config.message_types
            ],
            "roles": config.roles.model_copy(
                update={k: name + k for k in ("module", "sender", "operator", "reader")}
            ),
        }
    )


def test_a_deployment_verifies_without_findings(connect):
    apply(AUDIT, connect)
    assert verify(AUDIT, connect) == []


def test_a_second_deployment_changes_nothing(connect):
    apply(AUDIT, connect)
    before = rows(connect, OBJECTS)
    apply(AUDIT, connect)
    assert rows(connect, OBJECTS) == before
    assert verify(AUDIT, connect) == []
    history = rows(connect, "SELECT COUNT(*) FROM audit.DeploymentHistory;")
    assert history == [(1,)]


def test_uninstall_with_purge_leaves_the_database_as_it_was(connect):
    before = rows(connect, OBJECTS)
    apply(AUDIT, connect)
    assert rows(connect, OBJECTS) != before
    uninstall(AUDIT, connect, purge_data=True, purge_rows=1_000_000)
    assert rows(connect, OBJECTS) == before


def test_uninstall_keeps_the_data_and_a_new_deployment_finds_it(connect):
    apply(AUDIT, connect)
    with closing(connect()) as connection:
        connection.cursor().execute(
            "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
            "VALUES (N'target', NEWID(), 7);"
        )
    uninstall(AUDIT, connect)
    assert verify(AUDIT, connect) != []
    apply(AUDIT, connect)
    assert verify(AUDIT, connect) == []
    assert rows(connect, "SELECT MessageSequence FROM audit.DeadLetter;") == [(7,)]


def test_hostile_names_deploy_and_uninstall(connect):
    before = rows(connect, OBJECTS)
    config = renamed(AUDIT, HOSTILE)
    apply(config, connect)
    assert verify(config, connect) == []
    uninstall(config, connect, purge_data=True, purge_rows=1_000_000)
    assert rows(connect, OBJECTS) == before


def test_two_configs_share_a_database_and_its_end_of_stream_type(connect):
    second = renamed(AUDIT, "other")
    second = second.model_copy(
        update={"contract": second.contract.model_copy(update={"end_of_stream": "EndOfStream"})}
    )
    apply(AUDIT, connect)
    apply(second, connect)
    uninstall(AUDIT, connect, purge_data=True, purge_rows=1_000_000)
    assert verify(second, connect) == []


def test_a_failing_batch_names_file_line_and_the_servers_message(connect):
    with closing(connect()) as connection:
        connection.cursor().execute(
            "EXECUTE(N'CREATE SCHEMA audit');"
            "EXECUTE(N'CREATE TABLE audit.Theirs (x int NOT NULL CONSTRAINT DF_Landing_LandedUtc "
            "DEFAULT (0));');"
        )
    with pytest.raises(DeployError) as caught:
        apply(AUDIT, connect)
    assert caught.value.file == "1_core.sql"
    text = rendered(AUDIT)["1_core.sql"].split("\n")
    at = text.index("    CREATE TABLE [audit].[Landing]")
    assert at - 20 < caught.value.line <= at  # the first line of the batch
    assert caught.value.number == 2714


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("number", range(0, 32, 5))
def test_a_deployment_cut_off_after_any_file_converges_when_run_again(connect, number):
    class Cut(Exception):
        pass

    def stop(name: str, at: int, total: int) -> None:
        if at == number + 1:
            raise Cut

    parts = [name for name in render(AUDIT) if name[:2].isdigit()]
    if number < len(parts):
        with pytest.raises(Cut):
            apply(AUDIT, connect, stop)
    apply(AUDIT, connect)
    assert verify(AUDIT, connect) == []

"""apply, verify and uninstall of a configuration whose target has a database of its own."""

from contextlib import closing

import pytest

from redial.config import load
from redial.deploy import DeployError, apply, connect_odbc, uninstall, verify
from redial.paths import CONFIGS
from redial.render.quoting import quote_name
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed

pytestmark = pytest.mark.driver
SHOP, DEPOT = "shop", "de]pot"
AUDIT = load(CONFIGS / "audit.toml")
CONFIG = AUDIT.model_copy(
    update={"target": AUDIT.target.model_copy(update={"database": DEPOT, "receive_wait_ms": 0})}
)


@pytest.fixture
def connect():
    """Connections to the sender's database; the target's is beside it, empty."""
    with EmbeddedBroker() as broker, unprobed(broker.call(lambda instance: instance.server)):
        with closing(connect_odbc(broker.odbc)()) as connection:
            for name in (SHOP, DEPOT):
                connection.cursor().execute(f"CREATE DATABASE {quote_name(name)};")
        yield connect_odbc(with_database(broker.odbc, SHOP))


def rows(connect, sql: str) -> list[tuple]:
    with closing(connect()) as connection:
        return [tuple(row) for row in connection.cursor().execute(sql).fetchall()]


def run(connect, sql: str) -> None:
    with closing(connect()) as connection:
        connection.cursor().execute(sql)


def test_both_databases_are_installed_verified_and_removed(connect):
    report = apply(CONFIG, connect)
    first_target = next(n for n in report.files if n.startswith("target/"))
    assert report.files.index("05_preflight.check.sql") < report.files.index(first_target)
    assert report.files.index("target/80_queues.activation.sql") < report.files.index(
        "62_01_keys.exchange.sql"
    )
    assert verify(CONFIG, connect) == []
    assert rows(
        connect, f"SELECT OBJECT_ID(N'{quote_name(DEPOT)}.audit.usp_TargetActivation')"
    ) != [(None,)]
    assert rows(connect, "SELECT OBJECT_ID(N'audit.usp_TargetActivation')") == [(None,)]
    done = uninstall(CONFIG, connect, purge_data=True, purge_rows=1_000_000)
    assert done.files == [
        "uninstall.sql",
        "target/uninstall.sql",
        "purge_data.sql",
        "target/purge_data.sql",
    ]
    assert (
        rows(
            connect,
            "SELECT name FROM sys.certificates UNION ALL SELECT name FROM "
            f"{quote_name(DEPOT)}.sys.certificates",
        )
        == []
    )


def test_verify_names_what_is_missing_between_the_databases(connect):
    apply(CONFIG, connect)
    run(connect, "DROP REMOTE SERVICE BINDING redial_audit_target; DROP ROUTE redial_audit_target;")
    found = " ".join(verify(CONFIG, connect))
    assert "remote service binding" in found and "route" in found and "invoke deploy" in found
    apply(CONFIG, connect)
    assert verify(CONFIG, connect) == []


def test_a_target_database_that_is_not_there_is_said_before_anything_is_done(connect):
    run(connect, f"USE master; DROP DATABASE {quote_name(DEPOT)};")
    with pytest.raises(DeployError) as caught:
        apply(CONFIG, connect)
    assert caught.value.number == 50204
    assert rows(connect, "SELECT COUNT(*) FROM sys.schemas WHERE name = N'audit'") == [(0,)]
    assert any(DEPOT in line for line in verify(CONFIG, connect))

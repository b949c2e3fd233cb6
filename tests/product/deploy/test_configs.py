"""Every shipped configuration through ODBC, as `invoke deploy` and `invoke uninstall` do it."""

from __future__ import annotations

from contextlib import closing

import pytest

from redial.cli.configs import chosen, load_named
from redial.deploy import apply, connect_odbc, uninstall, verify
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed
from tests.product.combos.catalog import differences, read
from tests.sampling import full

pytestmark = pytest.mark.driver
DATABASE = "shipped"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running, unprobed(running.call(lambda instance: instance.server)):
        yield running


@pytest.fixture
def connect(broker):
    """Connections to a fresh database."""
    with closing(connect_odbc(broker.odbc)()) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE};")
        connection.execute(f"CREATE DATABASE {DATABASE};")
    return connect_odbc(with_database(broker.odbc, DATABASE))


def catalog(connect) -> dict[str, list[tuple]]:
    def rows(sql: str) -> list[tuple]:
        with closing(connect()) as connection:
            return [tuple(row) for row in connection.execute(sql).fetchall()]

    return read(rows)


@pytest.mark.sampled(every=4, last=False)
@pytest.mark.parametrize("name", chosen(None))
def test_a_shipped_configuration_is_deployed_verified_and_removed(connect, name):
    """Feature idempotent deploy, rollback / uninstall: DacFx#338, whose publish turned it off."""
    config = load_named(name)
    before = catalog(connect)
    apply(config, connect)
    assert verify(config, connect) == []
    once = catalog(connect)
    apply(config, connect)
    assert differences(once, catalog(connect)) == []
    uninstall(config, connect, purge_data=True, purge_rows=1_000_000)
    assert differences(before, catalog(connect)) == []


def test_all_of_them_live_in_one_database_and_leave_it_one_by_one(connect):
    """Feature templates / multi-service config: several service pairs beside each other.

    The first and the last of them, and all with --full.
    """
    names = chosen(None) if full() else chosen(None)[::3]
    assert len(names) > 1
    before = catalog(connect)
    for name in names:
        apply(load_named(name), connect)
    for name in names:
        assert verify(load_named(name), connect) == [], name
    for name in names:
        uninstall(load_named(name), connect, purge_data=True, purge_rows=1_000_000)
    assert differences(before, catalog(connect)) == []

"""Two hundred real connections at once: all are served; all that end without a word are gone."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pyodbc
import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import LOGIN

from .client import batch, login, parse, prelogin, replies
from .ended import becomes, left_behind

pytestmark = pytest.mark.driver

CROWD = 200
CALLS = 5


@pytest.fixture(scope="module")
def broker():
    pooling, pyodbc.pooling = pyodbc.pooling, False
    with EmbeddedBroker() as started:
        with pyodbc.connect(started.odbc, autocommit=True) as connection:
            connection.execute("CREATE DATABASE crowd;")
            connection.execute(
                "USE crowd; CREATE TABLE dbo.seen (who int, n int, "
                "PRIMARY KEY (who, n)); CREATE TABLE dbo.total (n int);"
                "INSERT dbo.total VALUES (0);"
            )
        connection.close()
        yield started
        assert started.defects == []
    pyodbc.pooling = pooling


def connect(broker, autocommit=True):
    connection = pyodbc.connect(broker.odbc, autocommit=True)
    connection.execute("USE crowd;")
    connection.autocommit = autocommit
    return connection


def ask(broker, query):
    connection = connect(broker)
    try:
        return connection.execute(query).fetchval()
    finally:
        connection.close()


def test_two_hundred_connections_write_side_by_side(broker):
    """All are open before the first one writes; every write of every one is there afterwards."""
    with ThreadPoolExecutor(CROWD) as pool:
        crowd = list(pool.map(lambda _: connect(broker), range(CROWD)))
        assert becomes(broker, CROWD)

        def write(who):
            for n in range(CALLS):
                crowd[who].execute(
                    "BEGIN TRANSACTION; INSERT dbo.seen VALUES (?, ?); "
                    "UPDATE dbo.total SET n += 1; COMMIT;",
                    who,
                    n,
                )

        list(pool.map(write, range(CROWD)))
        list(pool.map(lambda connection: connection.close(), crowd))
    assert ask(broker, "SELECT COUNT(*) FROM dbo.seen;") == CROWD * CALLS
    assert ask(broker, "SELECT n FROM dbo.total;") == CROWD * CALLS
    assert becomes(broker, 0)


def test_two_hundred_that_wait_for_one_lock_are_all_served_and_none_twice(broker):
    before = ask(broker, "SELECT n FROM dbo.total;")
    holder = connect(broker, autocommit=False)
    holder.execute("UPDATE dbo.total SET n += 1;")
    with ThreadPoolExecutor(CROWD) as pool:
        crowd = list(pool.map(lambda _: connect(broker), range(CROWD)))
        waiting = [pool.submit(one.execute, "UPDATE dbo.total SET n += 1;") for one in crowd]
        holder.commit()
        for one in waiting:
            one.result()
        for one in crowd:
            one.close()
    holder.close()
    assert ask(broker, "SELECT n FROM dbo.total;") == before + 1 + CROWD


def test_two_hundred_sockets_that_vanish_in_a_transaction_leave_nothing(broker):
    """Each has locked a row of its own and is told so; then every socket is reset."""
    before = ask(broker, "SELECT COUNT(*) FROM dbo.seen;")
    sockets = []
    for who in range(CROWD):
        client = socket.create_connection(("127.0.0.1", broker.port), timeout=LOGIN)
        client.sendall(prelogin())
        _answer(client)
        client.sendall(login(user=broker.user, password=broker.password, database="crowd"))
        _answer(client)
        client.sendall(batch(f"BEGIN TRANSACTION; INSERT dbo.seen VALUES ({who}, 1000);"))
        assert parse(_answer(client))
        sockets.append(client)
    assert becomes(broker, CROWD)
    for client in sockets:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset
        client.close()
    assert ask(broker, "SELECT COUNT(*) FROM dbo.seen;") == before, "waits for the last rollback"
    assert left_behind(broker) == (0, 0)


def _answer(client: socket.socket) -> bytes:
    """The body of the next reply, however many packets it has."""
    data = b""
    while True:
        data += client.recv(65536)
        whole = replies(data) if _complete(data) else []
        if whole:
            return whole[0]


def _complete(data: bytes) -> bool:
    at = 0
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if at + length > len(data):
            return False
        if data[at + 1] & 1 and at + length == len(data):
            return True
        at += length
    return False

"""Wrong passwords, cut-off and random packets, against the deployed configuration.

The codecs alone are fuzzed in tests/broker/tds; here the real instance is behind them, and what counts is
what stays: no session, no lock, no transaction, no half message, and the next client is served.
"""

from __future__ import annotations

import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redial_broker import EmbeddedBroker
from redial_broker.engine.types import NVARCHAR_MAX, VARBINARY_MAX
from redial_broker.instance.defects import INTERNAL_ERROR
from redial_broker.instance.instance import PASSWORD
from redial_broker.tds import constants as c
from redial_broker.tds.connection import Connection
from redial_lab.proof.audit_setups import DATABASE
from tests.broker.tds.client import (
    Error,
    attention,
    batch,
    call,
    login,
    message,
    param,
    parse,
    prelogin,
    replies,
    rpc,
)
from tests.waiting import LOGIN

from .lab import EVENT, Lab

SEND = (
    "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
    f"N'//redial/audit/contract', N'{EVENT}', 0xC0FFEE;"
)
GOOD_LOGIN = login(user="sa", password=PASSWORD, database=DATABASE)


def conversation() -> list[bytes]:
    """All a well-behaved application says: login, a transaction, sends as text and as calls."""
    names = ("//redial/audit/initiator", "//redial/audit/target", "//redial/audit/contract", EVENT)
    return [
        prelogin(),
        GOOD_LOGIN,
        batch("BEGIN TRANSACTION;"),
        batch(SEND),
        rpc(
            call(
                "audit.usp_Send",
                *(param(name, NVARCHAR_MAX) for name in names),
                param(b"\x01" * 5000, VARBINARY_MAX),
            )
        ),
        batch("COMMIT;"),
        batch(SEND),
        attention(),
    ]


MESSAGES = conversation()
LENGTH = sum(map(len, MESSAGES))


@pytest.fixture(scope="module")
def deployed() -> Lab:
    return Lab()


class Client:
    """A connection without a socket; ``hang_up`` is what the server sees of a lost one."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.connection = Connection(lab.instance)
        self.heard = b""

    def say(self, data: bytes) -> None:
        if not data:
            return
        self.connection.receive(data)
        while True:
            more = self.lab.instance.pump()
            if not self.connection.resume() and not more:
                break
        self.heard += self.connection.take_output()

    def say_until(self, cut: int) -> None:
        """The first ``cut`` bytes of the conversation, each message when the one before is done."""
        for spoken in MESSAGES:
            self.say(spoken[: max(0, cut)])
            cut -= len(spoken)

    def hang_up(self) -> None:
        self.connection.lost()
        if self.connection.orphaned:
            self.connection.disconnect()
        self.lab.instance.run()

    def errors(self) -> list[Error]:
        return [
            token
            for body in replies(self.heard)
            for token in parse(body)
            if isinstance(token, Error) and token.severity > 10
        ]


def nothing_stays(lab: Lab, before: set[int]) -> None:
    """After a client is gone: no session, lock or transaction of it; the next one is served."""
    lab.instance.run()
    assert {number for number in lab.instance.sessions if number > 50} == before
    lab.at_rest()
    good = Client(lab)
    good.say(prelogin())
    good.say(GOOD_LOGIN)
    good.say(batch("SELECT 1;"))
    assert good.errors() == []
    good.hang_up()


@pytest.mark.parametrize("part", [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1])
def test_a_conversation_cut_off_anywhere_leaves_nothing_behind(deployed, part):
    before = {number for number in deployed.instance.sessions if number > 50}
    client = Client(deployed)
    client.say_until(int(LENGTH * part))
    client.hang_up()
    assert client.errors() == []
    nothing_stays(deployed, before)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cut=st.integers(0, LENGTH))
def test_wherever_it_is_cut_messages_are_whole_or_absent(deployed, cut):
    before = {number for number in deployed.instance.sessions if number > 50}
    client = Client(deployed)
    client.say_until(cut)
    client.hang_up()
    nothing_stays(deployed, before)
    assert set(deployed.landed()) <= {b"\xc0\xff\xee", b"\x01" * 5000}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from([c.SQL_BATCH, c.RPC, c.TRANSACTION_MANAGER, c.BULK_LOAD, 0x63]),
    body=st.binary(max_size=200),
    status=st.integers(0, 255),
)
def test_random_messages_behind_a_login_get_an_error_or_the_end(deployed, kind, body, status):
    before = {number for number in deployed.instance.sessions if number > 50}
    client = Client(deployed)
    client.say(prelogin())
    client.say(GOOD_LOGIN)
    client.say(message(kind, body, status & ~1))
    assert INTERNAL_ERROR not in [error.number for error in client.errors()]
    client.hang_up()
    nothing_stays(deployed, before)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_flipped_bit_anywhere_leaves_nothing_behind(deployed, data):
    before = {number for number in deployed.instance.sessions if number > 50}
    stream = bytearray(b"".join(MESSAGES))
    stream[data.draw(st.integers(0, len(stream) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    client = Client(deployed)
    client.say(bytes(stream))
    client.hang_up()
    nothing_stays(deployed, before)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200))
def test_random_text_is_answered_and_the_session_goes_on(deployed, text):
    session = deployed.connect()
    answer = session.execute(text)
    deployed.instance.run()
    assert answer.finished
    session.execute("IF @@TRANCOUNT > 0 ROLLBACK;")
    session.close()
    deployed.at_rest()


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"password": "wrong"}, [18456]),
        ({"password": ""}, [18456]),
        ({"user": "nobody"}, [18456]),
        ({"user": "sa' OR 1 = 1 --"}, [18456]),
        ({"database": "nowhere"}, [4060, 18456]),
    ],
)
def test_a_login_that_fails_says_so_and_is_gone(deployed, fields, numbers):
    before = {number for number in deployed.instance.sessions if number > 50}
    client = Client(deployed)
    client.say(prelogin())
    client.say(login(**({"user": "sa", "password": PASSWORD, "database": DATABASE} | fields)))
    assert [error.number for error in client.errors()] == numbers
    assert client.connection.closing
    nothing_stays(deployed, before)


def test_a_client_that_dies_between_its_packets_keeps_no_lock_on_the_dialog(deployed):
    """Its usp_Send is in an open transaction: R and G are held until the connection is lost."""
    client = Client(deployed)
    client.say(prelogin())
    client.say(GOOD_LOGIN)
    client.say(batch("BEGIN TRANSACTION;"))
    before = deployed.landed()
    client.say(batch(SEND))
    assert deployed.instance.engine.locks.resources
    client.say(batch(SEND)[:40])
    client.hang_up()
    deployed.at_rest()
    assert deployed.landed() == before


# ---------------------------------------------------------------------- through a real driver
GARBAGE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    bytes(4096),
    bytes(range(256)) * 8,
    prelogin()[:10],
    prelogin() + GOOD_LOGIN[:50],
    prelogin() + b"\x16\x03\x01\x00\x05hello",
]


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(clock="virtual") as running:
        yield running
    assert running.defects == []


@pytest.mark.driver
@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_on_the_port_does_not_disturb_a_driver_in_a_transaction(broker, garbage):
    pyodbc = pytest.importorskip("pyodbc")
    opened = pyodbc.connect(broker.odbc, autocommit=False, timeout=LOGIN)
    opened.execute("CREATE TABLE dbo.kept (id int PRIMARY KEY); INSERT dbo.kept VALUES (1);")
    with socket.create_connection(("127.0.0.1", broker.port)) as raw:
        raw.sendall(garbage)
    assert opened.execute("SELECT COUNT(*) FROM dbo.kept;").fetchval() == 1
    opened.rollback()
    opened.close()
    again = pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN)
    assert again.execute("SELECT OBJECT_ID(N'dbo.kept');").fetchval() is None
    again.close()


@pytest.mark.driver
@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ("PWD=", "PWD=x", "18456"),
        ("UID=sa", "UID=nobody", "18456"),
        ("Database=master", "Database=nowhere", "4060"),
    ],
)
def test_a_driver_is_told_why_it_was_not_let_in_and_the_next_one_gets_in(broker, old, new, number):
    pyodbc = pytest.importorskip("pyodbc")
    assert old in broker.odbc
    with pytest.raises(pyodbc.Error, match=number):
        pyodbc.connect(broker.odbc.replace(old, new), timeout=LOGIN)
    good = pyodbc.connect(broker.odbc, timeout=LOGIN)
    assert good.execute("SELECT 1;").fetchval() == 1
    good.close()

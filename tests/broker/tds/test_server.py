"""The asyncio server over real sockets, without a driver."""

import asyncio
import socket

import pytest

from redial_broker.engine.clock import RealClock
from redial_broker.exec.objects import CATALOG_FUNCTIONS
from redial_broker.instance.defects import INTERNAL_ERROR
from redial_broker.instance.instance import PASSWORD, Instance
from redial_broker.tds import constants as c
from redial_broker.tds import server as server_module
from redial_broker.tds.server import TdsServer
from tests.waiting import HANGS

from .client import Error, attention, batch, login, parse, prelogin, replies
from .fake import FakeInstance


class Peer:
    """A client on a socket; ``reply`` reads one whole message."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, server, logged_in=True):
        peer = cls(*await asyncio.open_connection("127.0.0.1", server.port))
        if logged_in:
            await peer.ask(prelogin())
            await peer.ask(login())
        return peer

    async def ask(self, data):
        self.writer.write(data)
        return await self.reply()

    async def reply(self):
        data = b""
        while True:
            head = await self.reader.readexactly(8)
            data += head + await self.reader.readexactly(int.from_bytes(head[2:4], "big") - 8)
            if head[1] & c.EOM:
                return replies(data)[0]

    async def end(self):
        return await self.reader.read()


def served(scenario, instance=None, **options):
    """Run ``scenario(server, instance)`` against a listening server."""

    async def main():
        served_instance = instance or FakeInstance()
        server = TdsServer(served_instance, tls=None, **options)
        await server.start()
        try:
            return await asyncio.wait_for(scenario(server, served_instance), HANGS)
        finally:
            await server.stop()

    return asyncio.run(main())


def test_it_listens_on_the_loopback_address_only():
    async def scenario(server, _):
        return server._listener.sockets[0].getsockname()

    host, port = served(scenario)
    assert host == "127.0.0.1"
    assert port > 0


def test_a_taken_port_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError):
        served(lambda *_: None, port=taken.getsockname()[1])


def test_clients_are_served_side_by_side_while_one_waits():
    async def scenario(server, instance):
        waiting, other = await Peer.connect(server), await Peer.connect(server)
        waiting.writer.write(batch("waitfor"))
        answer = await other.ask(batch("select 1"))
        waiting.writer.write(attention())
        return answer, parse(await waiting.reply()), parse(await waiting.reply())

    answer, request, acknowledgement = served(scenario)
    assert b"\xd1\x01\0\0\0\xfd" in answer
    assert (request[0].status, acknowledgement[0].status) == (c.DONE_ERROR, c.DONE_ATTN)


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.0\r\n\r\n", bytes(100), b"\x12\x01\x00\x03", b"\x10\x01\x7f\xff" * 9]
)
def test_garbage_closes_that_connection_and_the_server_goes_on(garbage):
    async def scenario(server, _):
        bad = await Peer.connect(server, logged_in=False)
        bad.writer.write(garbage)
        if garbage[0] in {0x10, 0x12}:  # a message that never completes: left to the login timer
            bad.writer.close()
        else:
            assert await bad.end() == b""
        good = await Peer.connect(server)
        return await good.ask(batch("select 1"))

    assert b"\xd1\x01\0\0\0\xfd" in served(scenario)


def test_who_does_not_log_in_in_time_is_cut_off(monkeypatch):
    monkeypatch.setattr(server_module, "LOGIN_SECONDS", 0.01)

    async def scenario(server, _):
        peer = await Peer.connect(server, logged_in=False)
        try:
            return await peer.end()
        except ConnectionResetError:
            return b""

    assert served(scenario) == b""


def test_a_lost_connection_closes_its_session():
    async def scenario(server, instance):
        peer = await Peer.connect(server)
        (session,) = instance.sessions.values()
        peer.writer.close()
        while not session.closed:
            await asyncio.sleep(0)
        return len(server.links)

    assert served(scenario) == 0


def test_a_killed_idle_session_loses_its_connection():
    async def scenario(server, instance):
        victim, other = await Peer.connect(server), await Peer.connect(server)
        instance.sessions.pop(min(instance.sessions))
        await other.ask(batch("select 1"))
        return await victim.end()

    assert served(scenario) == b""


def test_stopping_tells_a_client_that_waits():
    async def scenario(server, _):
        peer = await Peer.connect(server)
        peer.writer.write(batch("waitfor"))
        while not any(link.connection.running for link in server.links):
            await asyncio.sleep(0)
        await server.stop()
        return parse(await peer.reply()), await peer.end()

    tokens, rest = served(scenario)
    assert tokens[0].number == 6005
    assert rest == b""


def test_a_defect_of_the_scheduler_is_kept_and_the_server_goes_on():
    async def scenario(server, _):
        peer = await Peer.connect(server)
        peer.writer.write(batch("raise"))
        other = await Peer.connect(server)
        return await other.ask(batch("select 1")), server.defects

    answer, defects = served(scenario)
    assert b"\xd1\x01\0\0\0\xfd" in answer
    assert [str(error) for error in defects] == ["a bug"]


@pytest.mark.breaks_the_broker
def test_a_defect_ends_one_request_and_its_connection_and_no_neighbour_s(monkeypatch):
    """1. T1 holds a row in a transaction, T2 waits for a message. 2. T3 breaks: it hears 60999 and
    its connection ends. 3. T1 commits, T2 gets the message.
    """
    instance = Instance(clock=RealClock())
    instance.connect().execute("CREATE DATABASE d;").ok()
    setup = instance.connect("d")
    setup.execute("CREATE QUEUE dbo.q; CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT]);").ok()
    monkeypatch.setitem(CATALOG_FUNCTIONS, "OBJECT_ID", lambda s, args: 1 // 0)
    send = (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE 's' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x4142);"
    )

    async def peer(server):
        made = await Peer.connect(server, logged_in=False)
        await made.ask(prelogin())
        await made.ask(login(user="sa", password=PASSWORD, database="d"))
        return made

    async def scenario(server, _):
        t1, t2, t3 = await peer(server), await peer(server), await peer(server)
        await t1.ask(batch("BEGIN TRANSACTION;" + send))
        t2.writer.write(batch("WAITFOR (RECEIVE message_body FROM dbo.q), TIMEOUT -1;"))
        broken = parse(await t3.ask(batch("SELECT OBJECT_ID('x');")))
        rest = await t3.end()
        committed = parse(await t1.ask(batch("COMMIT;")))
        return broken, rest, committed, await t2.reply(), server.defects

    broken, rest, committed, received, defects = served(scenario, instance)
    assert [(t.number, t.severity) for t in broken if isinstance(t, Error)] == [
        (INTERNAL_ERROR, 20)
    ]
    assert rest == b""
    assert not [t for t in committed if isinstance(t, Error)]
    assert b"AB" in received
    assert defects == [] and len(instance.defects.found) == 1


def test_a_long_request_runs_in_slices_between_which_others_are_served(monkeypatch):
    class Slow(FakeInstance):
        rounds = 0

        def pump(self, max_steps=1000):
            if self.rounds:
                self.rounds -= 1
                return True
            return super().pump(max_steps)

    async def scenario(server, instance):
        peer, other = await Peer.connect(server), await Peer.connect(server)
        instance.rounds = 1000
        peer.writer.write(batch("select 1"))
        await asyncio.sleep(0)
        started = instance.rounds
        other.writer.close()
        while len(server.links) > 1:
            await asyncio.sleep(0)
        in_between = instance.rounds
        await peer.reply()
        return started, in_between

    started, in_between = served(scenario, Slow())
    assert started >= in_between > 0


def test_the_next_due_time_of_the_instance_is_waited_for():
    class Timed(FakeInstance):
        due = None

        def next_due(self):
            return self.due

        def pump(self, max_steps=1000):
            if self.due is not None:
                self.due = None
                next(iter(self.sessions.values())).attention()
            return super().pump(max_steps)

    async def scenario(server, instance):
        peer = await Peer.connect(server)
        peer.writer.write(batch("waitfor"))
        while not any(link.connection.running for link in server.links):
            await asyncio.sleep(0)
        instance.due = 0.002
        server._arm()
        return parse(await peer.reply())

    assert served(scenario, Timed())[0].token == c.DONE


def test_in_virtual_time_no_timer_is_armed():
    class Timed(FakeInstance):
        def next_due(self):
            raise AssertionError("asked for the time")

    async def scenario(server, _):
        peer = await Peer.connect(server)
        return await peer.ask(batch("select 1"))

    assert served(scenario, Timed(), virtual_time=True)

"""harness/redial_broker/tds/lockout.py, and the server that holds an answer back."""

import asyncio

from redial_broker.instance.instance import PASSWORD, Instance
from redial_broker.tds.lockout import FREE, NAMES, Lockout
from redial_broker.tds.server import TdsServer
from tests.waiting import HANGS

from .client import login, prelogin
from .test_server import Peer

FAILED = "Login failed".encode("utf-16-le")


def test_three_failures_are_answered_at_once_and_further_ones_ever_later():
    lockout = Lockout()
    assert [lockout.failed("sa") for _ in range(FREE + 6)] == [0, 0, 0, 1, 2, 4, 8, 8, 8]


def test_a_login_that_succeeds_starts_the_count_over_and_names_are_counted_apart():
    lockout = Lockout()
    for _ in range(FREE):
        lockout.failed("sa")
    assert lockout.failed("ann") == 0
    assert lockout.failed("SA") == 1
    lockout.succeeded("Sa")
    assert lockout.failed("sa") == 0


def test_names_that_are_tried_once_each_take_bounded_memory():
    lockout = Lockout()
    for _ in range(FREE):
        lockout.failed("sa")
    for number in range(NAMES):
        lockout.failed(f"guess {number}")
    assert lockout.failed("sa") == 0, "forgotten: it was the oldest"


class Slow(Lockout):
    """Every failure waits longer than the test."""

    def failed(self, user: str) -> float:
        return 10.0 * HANGS


def guessed(**options):
    """What happens to a wrong password while every failure waits: (held, others got in, answer)."""

    async def main():
        server = TdsServer(Instance(), tls=None, **options)
        server.lockout = Slow()
        await server.start()
        try:
            peer = await Peer.connect(server, logged_in=False)
            await peer.ask(prelogin())
            (link,) = server.links
            answer = asyncio.ensure_future(peer.ask(login(password="wrong")))
            while not link.connection.failed_login:
                await asyncio.sleep(0)
            held = link.held
            other = await Peer.connect(server, logged_in=False)
            await other.ask(prelogin())
            got_in = FAILED not in await other.ask(login(password=PASSWORD))
            link.release()
            return held, got_in, await asyncio.wait_for(answer, HANGS)
        finally:
            await server.stop()

    return asyncio.run(main())


def test_an_answer_is_held_back_while_others_log_in():
    held, got_in, answer = guessed()
    assert held and got_in
    assert FAILED in answer


def test_where_time_is_virtual_nothing_is_held_back():
    held, _, answer = guessed(virtual_time=True)
    assert not held
    assert FAILED in answer

"""A client counts only what it was told is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redial_lab.scenarios.sender import ATTEMPTS, ClientCount, run_client


class Server:
    """A connection that refuses the calls it is told to, and remembers what was committed."""

    def __init__(self, refuse=(), dies_at=None, autocommit=True):
        self.refuse, self.dies_at, self.autocommit = set(refuse), dies_at, autocommit
        self.calls, self.dead = 0, False
        self.open, self.committed = [], []

    def cursor(self):
        return self

    def execute(self, call, *body):
        if self.dead:
            raise RuntimeError("08S01", "[08S01] gone (0) (SQLExecDirectW)")
        if not body:
            return self
        self.calls += 1
        if self.calls == self.dies_at:
            self.dead = True
            raise RuntimeError("08S01", "[08S01] link failure (0) (SQLExecDirectW)")
        if self.calls in self.refuse:
            raise RuntimeError("40001", "[40001] victim (1205) (SQLExecDirectW)")
        (self.committed if self.autocommit else self.open).append(body[0])
        return self

    def fetchone(self):
        return (1,)

    def commit(self):
        self.committed += self.open
        self.open = []

    def rollback(self):
        self.open = []


def bodies(count):
    return [bytes([n]) for n in range(count)]


def test_a_run_without_errors_is_one_range():
    count, server = ClientCount(0), Server()
    run_client(server, "call", bodies(5), count)
    assert (count.sent, count.total, count.errors) == ([(0, 4)], 5, [])


def test_a_refused_transaction_is_sent_again_as_a_whole_and_the_error_is_kept():
    count, server = ClientCount(0), Server(refuse={2}, autocommit=False)
    run_client(server, "call", bodies(4), count, 2)
    assert server.committed == bodies(4)
    assert (count.sent, count.errors) == ([(0, 3)], [(1205, "victim")])


def test_a_message_refused_every_time_is_not_counted_as_sent():
    count, server = ClientCount(0), Server(refuse=range(2, 2 + ATTEMPTS))
    run_client(server, "call", bodies(3), count)
    assert (count.sent, count.total) == ([(0, 0), (2, 2)], 2)
    assert len(count.errors) == ATTEMPTS


def test_what_was_in_flight_when_the_connection_broke_is_unknown():
    count, server = ClientCount(0), Server(dies_at=4, autocommit=False)
    run_client(server, "call", bodies(6), count, 2)
    assert (count.sent, count.unknown) == ([(0, 1)], [2, 3])


@given(st.integers(1, 30), st.integers(0, 5), st.sets(st.integers(1, 40)))
def test_what_a_client_counts_as_sent_is_what_the_server_committed(messages, size, refuse):
    count, server = ClientCount(0), Server(refuse, autocommit=not size)
    run_client(server, "call", bodies(messages), count, size)
    sent = [n for first, last in count.sent for n in range(first, last + 1)]
    assert [bytes([n]) for n in sent] == server.committed
    assert count.total == len(sent)


def test_a_paced_client_asks_before_each_transaction():
    asked = []
    run_client(Server(autocommit=False), "call", bodies(5), ClientCount(0), 2, asked.append)
    assert asked == [0, 2, 4]

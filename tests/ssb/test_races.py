"""END and LIFETIME against a transaction of the other side that is still open, under every value.

S is the sender, E ends the target's side. What no document says, a switch does (F-455 to F-457).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.broker.engine.broker_messages import text
from harness.broker.engine.errors import SqlError
from harness.broker.engine.switches import SWITCHES
from harness.broker.ssb import names, verbs
from tests.ssb.world import Blocked, World, ddl, error_code

FORMS = ("end", "end_error", "cleanup")
VALUES = SWITCHES["end_over_open_send"].values


@dataclass
class Race:
    """A dialog both sides of which are there, a sender and somebody who ends the target's side."""

    switches: dict = field(default_factory=dict)
    lifetime: int | None = None

    def __post_init__(self) -> None:
        self.world = World(**self.switches)
        self.s, self.e, self.reader = (self.world.session() for _ in range(3))
        self.handle = self.s.dialog(lifetime=self.lifetime)
        self.s.send(self.handle, b"0")
        self.target = self.world.target(self.handle)
        assert self.reader.bodies() == [b"0"]

    def ends(self, form: str = "end") -> None:
        getattr(self.e, form)(self.target)

    def told(self) -> list[str]:
        """What the initiator's queue says, as far as anybody can receive it."""
        return [row[1] for row in self.reader.take("IQ")]

    @property
    def pending(self) -> list[bytes]:
        return self.world.pending(self.handle)

    def at_rest(self) -> None:
        assert self.world.engine.locks.resources == {}
        assert self.s.wait is None and self.e.wait is None


def race(lifetime: int | None = None, **switches) -> Race:
    return Race(switches, lifetime)


def number(of) -> int:
    with pytest.raises(SqlError) as caught:
        of()
    return caught.value.number


# ---------------------------------------------------------------------- END over an open SEND
@pytest.mark.parametrize("form", FORMS)
def test_by_default_end_does_not_wait_and_the_rows_are_gone(form):
    """1. S sends. 2. E ends the target. 3. S commits: no error, and no message anywhere."""
    r = race()
    r.s.begin().send(r.handle, b"1")
    r.ends(form)
    r.s.commit()
    assert (r.reader.bodies(), r.pending) == ([], [])
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
def test_end_waits_for_the_sender_and_deletes_what_it_has_committed(form):
    """1. S sends. 2. E's END waits. 3. S commits. 4. END goes on, and the row is gone."""
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends(form)
    assert r.s.wait is None and r.told() == []
    r.s.commit()
    r.e.again()
    assert (r.reader.bodies(), r.pending) == ([], [])
    r.at_rest()


def test_a_wait_of_end_ends_with_the_sender_s_rollback():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    r.s.rollback()
    r.e.again()
    assert r.world.states(r.handle) == ("DI", "CD")
    r.at_rest()


def test_a_wait_of_end_heeds_lock_timeout():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    r.e.lock_timeout = 0
    assert number(r.ends) == 1222
    assert r.world.states(r.handle) == ("CO", "CO")
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


def test_a_wait_of_end_can_close_a_cycle_and_has_a_victim():
    """1. S sends. 2. E locks what S wants next, and ENDs: waits. 3. S asks for it: one is 1205."""
    r = race(end_over_open_send="waits")
    other = r.s.dialog()
    r.e.begin().send(other, b"x")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    with pytest.raises((Blocked, SqlError)):
        r.s.send(other, b"y")
    assert r.world.engine.locks.deadlocks == 1


def test_a_killed_wait_of_end_leaves_nothing_behind():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    r.world.engine.locks.cancel_wait(r.e)
    r.e.rollback()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
def test_end_can_fail_at_once(form):
    r = race(end_over_open_send="fails")
    r.s.begin().send(r.handle, b"1")
    assert number(lambda: r.ends(form)) == 1222
    r.s.commit()
    r.ends(form)
    r.at_rest()


@pytest.mark.parametrize("value", ["waits", "fails"])
def test_end_meets_the_peer_s_uncommitted_enddialog_as_well(value):
    """1. S ends the initiator's side: its EndDialog is a row, too. 2. E's END of the target."""
    r = race(end_over_open_send=value)
    r.s.begin().end(r.handle)
    if value == "fails":
        assert number(r.ends) == 1222
    else:
        with pytest.raises(Blocked):
            r.ends()
    r.s.commit()
    r.ends() if value == "fails" else r.e.again()
    assert r.world.states(r.handle) == (None, "CD")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", FORMS)
def test_a_message_of_the_same_transaction_is_never_waited_for(value, form):
    r = race(end_over_open_send=value)
    r.e.begin().send(r.handle, b"1")
    r.ends(form)
    r.e.commit()
    assert r.reader.bodies() == []
    r.at_rest()


# ---------------------------------------------------------------------- rows that stay
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["E", "S"])
def test_rows_that_end_leaves_can_be_received_from_a_dialog_that_is_over(form, first):
    """1. One committed row, and one of S's. 2. E ends. 3. Both commit, in either order. 4. A reader
    gets the second row only; then nothing of the conversation is left.
    """
    r = race(end_over_open_send="leaves")
    r.world.s.send(r.handle, b"seen by END")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends(form)
    for session in (r.e, r.s) if first == "E" else (r.s, r.e):
        session.commit()
    reader = r.reader.begin()
    [(handle, kind, sequence, body)] = reader.take()
    assert (handle, kind, sequence, body) == (r.target, "M", 2, b"1")
    assert number(lambda: reader.end(r.target)) == (8426 if form == "cleanup" else 8427)
    reader.commit()
    assert r.world.state(r.target) == (None if form == "cleanup" else "CD")
    assert r.target not in r.world.broker.endpoints or form != "cleanup"
    assert r.world.queues["TQ"].stored_rows() == 0
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["E", "S"])
def test_rows_that_are_rolled_back_do_not_stay(form, first):
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends(form)
    (r.e.commit if first == "E" else r.s.rollback)()
    (r.s.rollback if first == "E" else r.e.commit)()
    assert r.reader.bodies() == []
    assert r.world.queues["TQ"].stored_rows() == 0
    assert r.world.broker.groups.keys() == {r.world.broker.endpoints[r.handle].group.group_id}


def test_a_row_that_stayed_comes_back_when_its_reader_rolls_back():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    assert r.reader.begin().bodies() == [b"1"]
    r.reader.rollback()
    assert r.reader.bodies(handle=r.target) == [b"1"]
    assert r.reader.bodies() == []


def test_a_savepoint_of_the_sender_takes_back_its_part_of_what_stays():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.s.save()
    r.s.send(r.handle, b"2")
    r.ends()
    r.s.rollback_to()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]


def test_what_stays_outlives_the_closed_row_and_wakes_who_waits():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.world.advance(3600)
    assert r.world.states(r.handle) == ("DI", "CD")
    with pytest.raises(Blocked):
        r.reader.wait_take()
    r.s.commit()
    assert [row[3] for row in r.reader.again()] == [b"1"]
    assert r.world.state(r.target) is None


def test_retention_keeps_nothing_of_a_dialog_that_is_over():
    r = race(end_over_open_send="leaves")
    r.world.set_queue("TQ", retention=True)
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    assert r.world.queues["TQ"].stored_rows() == 0


def test_end_that_is_rolled_back_has_left_nothing_and_taken_nothing():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends()
    r.e.rollback()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    assert r.world.states(r.handle) == ("CO", "CO")


def test_dropping_the_service_takes_what_stayed_along():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    r.e.ddl(ddl.drop_service, "T")
    assert r.world.queues["TQ"].stored_rows() == 0
    assert r.target not in r.world.broker.endpoints


# ---------------------------------------------------------------------- SEND over an open END
def test_by_default_a_message_enters_the_queue_of_a_side_that_is_being_ended():
    """1. E ends, open. 2. S sends in autocommit. 3. E commits: the message is gone."""
    r = race()
    r.e.begin()
    r.ends()
    r.s.send(r.handle, b"1")
    assert r.world.queues["TQ"].stored_rows() == 1
    r.e.commit()
    assert (r.reader.bodies(), r.pending) == ([], [])


def test_and_is_there_when_the_end_is_rolled_back():
    r = race()
    r.e.begin()
    r.ends()
    r.s.send(r.handle, b"1")
    r.e.rollback()
    assert r.reader.bodies() == [b"1"]


@pytest.mark.parametrize(("form", "error"), [("end", 8429), ("end_error", 8429)])
def test_send_waits_for_an_open_end_and_learns_of_it(form, error):
    r = race(send_over_open_end="waits")
    r.e.begin()
    r.ends(form)
    with pytest.raises(Blocked):
        r.s.send(r.handle, b"1")
    r.e.commit()
    assert number(r.s.again) == error
    r.at_rest()


def test_send_waits_for_an_open_end_and_goes_on_when_it_is_rolled_back():
    r = race(send_over_open_end="waits")
    r.e.begin()
    r.ends()
    with pytest.raises(Blocked):
        r.s.send_many([r.handle], b"1")
    r.e.rollback()
    r.s.again()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


def test_end_and_send_that_wait_for_each_other_are_a_deadlock():
    """1. S sends. 2. E's first END is open (another dialog's would do). 3. S's next SEND waits for
    E. 4. E's END of a dialog S has sent on waits for S.
    """
    r = race(send_over_open_end="waits", end_over_open_send="waits")
    other = r.s.dialog()
    r.s.send(other, b"0")
    r.s.begin().send(r.handle, b"1")
    r.e.begin().end(r.world.target(other))
    with pytest.raises(Blocked):
        r.s.send(other, b"2")
    with pytest.raises((Blocked, SqlError)):
        r.ends()
    assert r.world.engine.locks.deadlocks == 1


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
@pytest.mark.parametrize(("form", "status"), [("end", "9779"), ("end_error", "9784")])
def test_a_message_that_met_an_open_end_is_still_there_to_be_resent(enqueue_at, form, status):
    """1. E ends, open. 2. S's message waits in the transmission queue, as for a busy queue. 3. E
    commits: it is held until S's side ENDs.
    """
    r = race(send_over_open_end="transmits", enqueue_at=enqueue_at)
    r.e.begin()
    r.ends(form)
    r.s.send(r.handle, b"1")
    assert (r.pending, r.world.status(r.handle)) == ([b"1"], text(9749))
    r.e.commit()
    assert (r.pending, r.world.status(r.handle)) == ([b"1"], text(int(status)))


@pytest.mark.parametrize("value", ["transmits", "waits"])
def test_under_enqueue_at_commit_nobody_waits_and_nothing_is_lost(value):
    r = race(send_over_open_end=value, enqueue_at="commit")
    r.e.begin()
    r.ends()
    r.s.begin().send(r.handle, b"1")
    r.s.commit()
    assert r.pending == [b"1"]
    r.e.rollback()
    assert (r.pending, r.reader.bodies()) == ([], [b"1"])
    r.at_rest()


def test_what_waited_for_a_cleanup_is_refused_when_it_has_committed():
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends("cleanup")
    r.s.send(r.handle, b"1")
    assert r.pending == [b"1"]
    r.e.commit()
    [row] = r.reader.take("IQ")
    assert error_code(row) == -8462
    assert r.pending == [b"1"]


@pytest.mark.parametrize("s_first", [True, False])
@pytest.mark.parametrize("end_commits", [True, False])
def test_messages_held_back_keep_their_order(s_first, end_commits):
    """1. E ends, open. 2. S sends two in a transaction. 3. Both end, in either order."""
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends()
    r.s.begin().send(r.handle, b"1")
    r.s.send(r.handle, b"2")
    over = [r.s.commit, r.e.commit if end_commits else r.e.rollback]
    for end in over if s_first else over[::-1]:
        end()
    if end_commits:
        assert r.pending == [b"1", b"2"] and r.reader.bodies() == []
    else:
        assert r.pending == [] and r.reader.bodies() == [b"1", b"2"]
    r.at_rest()


def test_a_message_of_the_transaction_that_ends_is_not_held_back():
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends("cleanup")
    r.e.send(r.handle, b"1")
    r.e.commit()
    assert r.pending == []


# ---------------------------------------------------------------------- LIFETIME
def errors(r: Race) -> list[int]:
    """How many Error rows each side can receive: the initiator, the target."""
    return [sum(row[1] == names.ERROR for row in r.reader.take(queue)) for queue in ("IQ", "TQ")]


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_by_default_lifetime_does_not_ask_who_is_sending(enqueue_at):
    r = race(10, enqueue_at=enqueue_at)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(10)
    assert [len(r.world.broker.endpoints[h].inbox.special) for h in (r.handle, r.target)] == [1, 1]
    assert number(lambda: r.s.send(r.handle, b"2")) == 8429
    r.s.commit()


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
@pytest.mark.parametrize("commits", [True, False])
def test_lifetime_can_wait_for_who_is_sending(enqueue_at, commits):
    """1. S sends. 2. LIFETIME passes: nothing, S may go on. 3. S ends: both sides are told, and
    what S has committed came before.
    """
    r = race(10, enqueue_at=enqueue_at, expiry_waits_for_sender=True)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(60)
    assert errors(r) == [0, 0]
    r.s.send(r.handle, b"2")
    (r.s.commit if commits else r.s.rollback)()
    assert [row[3] for row in r.world.s.take(top=1, handle=r.target)] != [b"1"]  # Error is first
    assert r.world.states(r.handle) == ("ER", "ER")
    assert r.world.s.bodies(handle=r.target) == ([b"1", b"2"] if commits else [])
    assert not [key for key in r.world.engine.timers.entries if key[0] == "ssb.lifetime"]


def test_lifetime_waits_for_the_last_of_those_who_send():
    """Both sides have an open transaction; the Error rows come when the second has ended."""
    r = race(10, expiry_waits_for_sender=True)
    r.s.begin().send(r.handle, b"1")
    r.e.begin().send(r.target, b"a")
    r.world.advance(10)
    r.e.commit()
    assert errors(r) == [0, 0]
    r.s.rollback()
    assert errors(r) == [1, 1]


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_a_side_that_was_ended_while_lifetime_waited_is_not_told(enqueue_at):
    """1. S sends, LIFETIME passes. 2. S ENDs its own side and commits: what it has sent arrives."""
    r = race(10, expiry_waits_for_sender=True, enqueue_at=enqueue_at)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(10)
    r.s.end(r.handle)
    r.s.commit()
    r.world.advance(0)
    assert [row[1] for row in r.reader.take()] == [names.ERROR, "M", names.END_DIALOG]
    assert r.told() == []
    r.reader.end(r.target)
    assert r.world.states(r.handle) == (None, "CD")


# ---------------------------------------------------------------------- two databases
def two(**switches) -> tuple[World, object, str]:
    """A dialog from database sales to database stock, both sides there."""
    world = World(**switches)
    stock = world.new_database("stock")
    ddl.drop_service(world.broker, (setup := world.session()).work(), "T")
    setup.commit()
    del world.queues["TQ"]
    for broker in (world.broker, stock.broker):
        broker.has_master_key = True
    setup = world.session()
    t = setup.work()
    for name in "MEX":
        ddl.create_message_type(stock.broker, t, name)
    ddl.create_contract(stock.broker, t, "C", [(n, names.BY_ANY) for n in "MEX"])
    world.queues["TQ"] = world.new_queue(stock.broker, "TQ")
    ddl.create_service(stock.broker, t, "T", world.queues["TQ"], ["C"])
    setup.commit()
    handle = world.s.dialog()
    world.s.send(handle, b"0")
    return world, stock.broker, handle


def far_end(world: World, broker, s, handle: str) -> None:
    s.run(verbs.end_conversation, broker, s, world.target(handle))


@pytest.mark.parametrize("value", VALUES)
def test_between_two_databases_it_is_the_same_race(value):
    world, broker, handle = two(end_over_open_send=value)
    s, e = world.session().begin(), world.session()
    s.send(handle, b"1")
    end = lambda: far_end(world, broker, e, handle)  # noqa: E731
    if value == "waits":
        with pytest.raises(Blocked):
            end()
    elif value == "fails":
        assert number(end) == 1222
    else:
        end()
    s.commit()
    rows = world.s.bodies()
    assert rows == {"deletes": [], "waits": [], "leaves": [b"1"], "fails": [b"0", b"1"]}[value]


@pytest.mark.parametrize("value", SWITCHES["send_over_open_end"].values)
def test_between_two_databases_a_send_meets_the_end_as_well(value):
    world, broker, handle = two(send_over_open_end=value)
    s, e = world.session(), world.session().begin()
    far_end(world, broker, e, handle)
    if value == "waits":
        with pytest.raises(Blocked):
            s.send(handle, b"1")
    else:
        s.send(handle, b"1")
    assert world.pending(handle) == ([b"1"] if value == "transmits" else [])
    e.rollback()
    if value == "waits":
        s.again()
    assert world.pending(handle) == []
    assert world.s.bodies() == [b"0", b"1"]


# ---------------------------------------------------------------------- nothing else is lost
class Accounts:
    """A sender S and somebody E who receives and ends at the other side, both at random; what S
    has committed, and what E has received or has seen lying there when it ended the dialog.
    """

    def __init__(self, **switches) -> None:
        self.r = race(**switches)
        self.serial, self.mark = 0, 0
        self.sent: list[bytes] = []
        self.open_sent: list[bytes] = []
        self.found: set[bytes] = set()
        self.open_found: set[bytes] = set()

    def step(self, who: str, verb: str) -> None:
        s = self.r.s if who == "S" else self.r.e
        try:
            if s.wait is not None:
                return
            self.common(s, verb) if verb in {"begin", "commit", "rollback"} \
                else getattr(self, verb)(s)
        except Blocked:
            self.r.world.engine.locks.cancel_wait(s)
            s.end_wait()
            s.rollback()
            self.settle(s, False)
        except SqlError as error:
            assert error.number in {8426, 8427, 8429, 1205, 1222}, error
            if error.number == 1205:
                s.rollback()
                self.settle(s, False)
        s.error = None
        if s.transaction is None:
            self.settle(s, True)

    def common(self, s, verb: str) -> None:
        if verb == "begin" and not s.explicit:
            s.begin()
        elif verb != "begin" and s.explicit:
            getattr(s, verb)()
            self.settle(s, verb == "commit")

    def settle(self, s, commits: bool) -> None:
        if s is self.r.s:
            self.sent += self.open_sent if commits else []
            self.open_sent, self.mark = [], 0
        else:
            self.found |= self.open_found if commits else set()
            self.open_found = set()

    def send(self, s) -> None:
        self.serial += 1
        body = str(self.serial).encode()
        s.send(self.r.handle, body)
        self.open_sent.append(body)

    def save(self, s) -> None:
        if s.explicit and s is self.r.s:
            s.save()
            self.mark = len(self.open_sent)

    def back(self, s) -> None:
        if s.explicit and s.transaction.savepoints:
            s.rollback_to()
            del self.open_sent[self.mark:]

    def take(self, s) -> None:
        self.open_found |= set(s.bodies(handle=self.r.target)) - {None}

    def ends(self, s, form: str) -> None:
        endpoint = self.r.world.broker.endpoints.get(self.r.target)
        seen = {message[3] for _, message, owner in endpoint.inbox.stored() if owner is None} \
            if endpoint is not None else set()
        self.r.ends(form)
        self.open_found |= seen

    def end(self, s) -> None:
        self.ends(s, "end")

    def end_error(self, s) -> None:
        self.ends(s, "end_error")

    def cleanup(self, s) -> None:
        self.ends(s, "cleanup")

    def lost(self) -> set[bytes]:
        """Committed, and neither found by anybody nor lying anywhere."""
        for s in (self.r.s, self.r.e):
            self.common(s, "commit")
        while rows := self.r.world.s.bodies():
            self.found |= set(rows) - {None}
        lying = self.r.pending if self.r.handle in self.r.world.broker.endpoints else []
        return set(self.sent) - self.found - set(lying)


program = st.lists(st.one_of(
    st.tuples(st.just("S"), st.sampled_from([
        "begin", "send", "send", "commit", "rollback", "save", "back"])),
    st.tuples(st.just("E"), st.sampled_from([
        "begin", "take", "commit", "rollback", *FORMS]))), max_size=15)


def accounts(steps, **switches) -> Accounts:
    made = Accounts(**switches)
    for who, verb in steps:
        made.step(who, verb)
    return made


@settings(max_examples=300)
@given(program, st.sampled_from(["enqueues", "waits", "transmits"]),
       st.sampled_from(["send", "commit"]))
def test_where_end_leaves_open_rows_nothing_is_lost_that_it_has_not_found(steps, over_end, at):
    made = accounts(steps, end_over_open_send="leaves", send_over_open_end=over_end, enqueue_at=at)
    assert not made.lost()
    assert made.r.world.engine.locks.resources == {}


LOSES = ([("S", "begin"), ("S", "send"), ("E", "end"), ("S", "commit")],
         [("E", "begin"), ("E", "end"), ("S", "send"), ("E", "commit")])
"""END over an open SEND; SEND over an open END."""


@pytest.mark.parametrize("end", VALUES)
@pytest.mark.parametrize("send", SWITCHES["send_over_open_end"].values)
@pytest.mark.parametrize("at", ["send", "commit"])
def test_which_of_the_two_races_loses_a_message_without_a_word(end, send, at):
    lost = [bool(accounts(steps, end_over_open_send=end, send_over_open_end=send,
                          enqueue_at=at).lost()) for steps in LOSES]
    assert lost == [at == "send" and end == "deletes", send == "enqueues" and end != "leaves"]

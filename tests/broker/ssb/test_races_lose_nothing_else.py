"""Which races of END and SEND lose a message without a word; no program of steps finds another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from redial_broker.engine.switches import SWITCHES
from tests.broker.ssb.races import FORMS, VALUES, race
from tests.broker.ssb.world import Blocked


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
            self.common(s, verb) if verb in {"begin", "commit", "rollback"} else getattr(
                self, verb
            )(s)
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
            del self.open_sent[self.mark :]

    def take(self, s) -> None:
        self.open_found |= set(s.bodies(handle=self.r.target)) - {None}

    def ends(self, s, form: str) -> None:
        endpoint = self.r.world.broker.endpoints.get(self.r.target)
        seen = (
            {message[3] for _, message, owner in endpoint.inbox.stored() if owner is None}
            if endpoint is not None
            else set()
        )
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


program = st.lists(
    st.one_of(
        st.tuples(
            st.just("S"),
            st.sampled_from(["begin", "send", "send", "commit", "rollback", "save", "back"]),
        ),
        st.tuples(st.just("E"), st.sampled_from(["begin", "take", "commit", "rollback", *FORMS])),
    ),
    max_size=15,
)


def accounts(steps, **switches) -> Accounts:
    made = Accounts(**switches)
    for who, verb in steps:
        made.step(who, verb)
    return made


@settings(max_examples=300)
@given(
    program,
    st.sampled_from(["enqueues", "waits", "transmits"]),
    st.sampled_from(["send", "commit"]),
)
def test_where_end_leaves_open_rows_nothing_is_lost_that_it_has_not_found(steps, over_end, at):
    made = accounts(steps, end_over_open_send="leaves", send_over_open_end=over_end, enqueue_at=at)
    assert not made.lost()
    assert made.r.world.engine.locks.resources == {}


LOSES = (
    [("S", "begin"), ("S", "send"), ("E", "end"), ("S", "commit")],
    [("E", "begin"), ("E", "end"), ("S", "send"), ("E", "commit")],
)
"""END over an open SEND; SEND over an open END."""


@pytest.mark.parametrize("end", VALUES)
@pytest.mark.parametrize("send", SWITCHES["send_over_open_end"].values)
@pytest.mark.parametrize("at", ["send", "commit"])
def test_which_of_the_two_races_loses_a_message_without_a_word(end, send, at):
    lost = [
        bool(accounts(steps, end_over_open_send=end, send_over_open_end=send, enqueue_at=at).lost())
        for steps in LOSES
    ]
    assert lost == [at == "send" and end == "deletes", send == "enqueues" and end != "leaves"]

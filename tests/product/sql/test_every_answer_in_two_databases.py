"""The day of ``test_every_answer`` where sender and target have databases of their own.

But for ``certificates_in_instance``: where certificates count for nothing no message passes, and none is
lost (``test_two_databases``)."""

from __future__ import annotations

import pytest

from redial_broker.engine.switches import check

from .test_every_answer import ANSWERS, ENDS, IDS, LONG, TOGETHER, WHEN_COMPILED
from .two import DEPOT, SHOP, Two

OPERATORS = (
    ("usp_ResendStranded @olderThanSeconds = 0", SHOP),
    ("usp_EndLeaked @WhatIf = 0, @reason = N'day'", SHOP),
    ("usp_EndLeaked @WhatIf = 0, @reason = N'day'", DEPOT),
)
NOT_HERE = {*WHEN_COMPILED, "certificates_in_instance"}


class Day:
    """One application that sends, and whoever interferes."""

    def __init__(self, switches: dict[str, object]) -> None:
        self.two, self.sent = Two(), []
        self.two.instance.engine.switches = check(switches)

    def sends(self) -> None:
        """One message, and ten seconds."""
        self.sent.append(bytes([len(self.sent) + 1]))
        self.two.send(f"0x{self.sent[-1].hex()}")
        self.two.instance.advance(10)

    def queue(self, name: str, what: str) -> None:
        self.two.run(f"ALTER QUEUE audit.{name} WITH {what};", DEPOT if "Target" in name else SHOP)

    def ends(self, database: str, how: str) -> None:
        """Somebody ends every dialog in one of the databases, and is not noticed for a while."""
        self.sends()
        self.queue("InitiatorQueue", "ACTIVATION (STATUS = OFF)")
        for (handle,) in self.two.run(
            "SELECT conversation_handle FROM sys.conversation_endpoints WHERE state NOT IN ('CD', 'DO');",
            database,
        ):
            self.two.run(f"END CONVERSATION '{handle}' {how};", database)
        self.sends()
        self.queue("InitiatorQueue", "ACTIVATION (STATUS = ON)")
        self.sends()

    def passes(self) -> None:
        """All of it; at the end of each part everything has come to rest."""
        self.sends()
        self.two.instance.advance(LONG)
        for database in (DEPOT, SHOP):
            for how in ENDS:
                self.ends(database, how)
        for name in ("TargetQueue", "InitiatorQueue"):
            self.queue(name, "STATUS = OFF")
            self.sends()
            self.two.instance.advance(LONG)
            self.queue(name, "STATUS = ON")
            self.sends()
        for what, database in OPERATORS:
            self.two.run(f"EXECUTE audit.{what};", database)
            self.two.instance.advance(LONG)
        self.sends()
        self.two.instance.advance(LONG)


def is_right(switches: dict[str, object]) -> None:
    """Every message has landed, and nothing waits for anybody."""
    day = Day({name: value for name, value in switches.items() if name not in NOT_HERE})
    day.passes()
    assert sorted(set(day.two.bodies())) == day.sent
    assert day.two.run("SELECT Body FROM audit.SentMessage;") == []
    for database in (SHOP, DEPOT):
        assert day.two.run("SELECT Body FROM audit.DeadLetter;", database) == []


@pytest.mark.parametrize("switches", [{}, *ANSWERS])
def test_a_day_in_two_databases_is_right_under_each_other_answer(switches):
    is_right(switches)


@pytest.mark.parametrize("switches", TOGETHER, ids=IDS)
def test_a_day_in_two_databases_is_right_under_all_other_answers_at_once(switches):
    is_right(switches)

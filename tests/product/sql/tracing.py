"""What usp_Trace answers, and a day of messages with troubles to ask it about: for its tests."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from redial.config import Config

from .lab import Client, Lab, send

EVENT = "//redial/audit/event"
COLUMNS = (
    *("when", "step", "place", "conversation", "sequence", "key", "key_sequence"),
    *("message_id", "type", "bytes", "detail"),
)
LANDED, PENDING, QUEUED = "landed", "pending", "in the target's queue"
DEAD, SKIPPED = "dead letter", "skipped"
RETURNS = {LANDED: 0, SKIPPED: 0, PENDING: 2, QUEUED: 2, DEAD: 3, "given up": 3}
"""What usp_Trace returns with a word."""


@dataclass(frozen=True)
class Trace:
    """steps: the rows but the last, by column. word, says: the last. code: what was returned."""

    steps: list[dict[str, Any]]
    word: str
    says: str
    code: int

    @property
    def names(self) -> list[str]:
        return [step["step"] for step in self.steps]

    def all(self, name: str) -> list[dict[str, Any]]:
        return [step for step in self.steps if step["step"] == name]


def batch(arguments: str) -> str:
    return f"DECLARE @code int; EXECUTE @code = audit.usp_Trace {arguments}; SELECT @code;"


def answered(result_sets: list[Any]) -> Trace:
    """The answer to such a batch."""
    *steps, last = [dict(zip(COLUMNS, row, strict=True)) for row in result_sets[0].rows]
    assert last["step"] == "verdict"
    times = [step["when"] for step in steps if step["when"] is not None]
    assert times == sorted(times), "in order of time"
    ((code,),) = result_sets[1].rows
    assert code == RETURNS.get(last["place"], code)
    return Trace(steps, last["place"], last["detail"], code)


def trace(lab: Lab, arguments: str) -> Trace:
    client = Client(lab)
    client.execute(batch(arguments))
    lab.instance.disconnect(client.session)
    return answered(client.out.result_sets)


TAIL = "SUBSTRING({0}, DATALENGTH({0}) - 3, 4)"
"""The last four bytes of a body, by which a message is known here, with and without an envelope."""
POISON = (
    "IF OBJECT_ID(N'audit.poison') IS NULL ALTER TABLE audit.Landing WITH NOCHECK ADD CONSTRAINT "
    "poison CHECK (Body IS NULL OR SUBSTRING(Body, 4, 1) NOT IN (0x03, 0x07, 0x13, 0x23, 0x37, 0x43));"
)
MENDED = (
    "IF OBJECT_ID(N'audit.poison') IS NOT NULL ALTER TABLE audit.Landing DROP CONSTRAINT poison;"
)
READS = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = {});"
TAKES = "ALTER QUEUE audit.TargetQueue WITH STATUS = {};"
TROUBLES = {
    "sends": 40,
    "waits": 10,
    "nobody reads": 3,
    "somebody reads": 6,
    "queue off": 2,
    "queue on": 5,
    "sender's side cleaned up": 2,
    "target's side cleaned up": 1,
    "target ends with an error": 1,
    "given up and sent again": 2,
    "given up as dead letters": 1,
    "what has left its dialog is sent again": 2,
    "poison": 2,
    "mended": 3,
    "replayed": 3,
}
"""What happens on such a day, and how often."""


class Day:
    """Three sessions that send, and what goes wrong meanwhile; ``at``: where each message was first."""

    def __init__(self, config: Config, seed: int) -> None:
        self.lab = Lab(config)
        self.random = random.Random(seed)
        self.named = config.traits.named
        self.clients = [Client(self.lab) for _ in range(3)]
        self.at: dict[str, tuple[str, int]] = {}
        self.words: Counter[str] = Counter()

    def go_on(self, actions: int) -> None:
        for what in self.random.choices([*TROUBLES], [*TROUBLES.values()], k=actions):
            self.happens(what)

    def happens(self, what: str) -> None:
        rows, choose = self.lab.rows, self.random.choice
        match what:
            case "sends":
                self.sends()
            case "waits":
                self.lab.advance(choose([1, 5, 40]))
            case "nobody reads" | "somebody reads":
                rows(READS.format("OFF" if what == "nobody reads" else "ON"))
            case "queue off" | "queue on":
                rows(TAKES.format(what.split()[1]))
            case (
                "sender's side cleaned up"
                | "target's side cleaned up"
                | "target ends with an error"
            ):
                how = "WITH ERROR = 77 DESCRIPTION = N'no'" if "error" in what else "WITH CLEANUP"
                if handle := self.some(what.startswith("sender")):
                    rows(f"END CONVERSATION '{handle}' {how};")
            case "given up and sent again" | "given up as dead letters":
                code = -8489 if "again" in what else -8494
                if handle := self.some(True):
                    rows(f"EXECUTE audit.usp_ResendPending '{handle}', {code}, N'why';")
            case "what has left its dialog is sent again":
                rows("EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0;")
            case "poison" | "mended":
                rows(POISON if what == "poison" else MENDED)
            case "replayed":
                letters = rows(
                    "SELECT DeadLetterId FROM audit.DeadLetter WHERE HandledUtc IS NULL;"
                )
                if letters:
                    first = choose(letters)[0]
                    last = first + self.random.randrange(4)
                    rows(
                        f"EXECUTE audit.usp_ReplayDeadLetter {first}, {last}, @reason = N'mended', "
                        "@WhatIf = 0;"
                    )

    def some(self, initiator: bool) -> str | None:
        """The handle of an open side of a dialog."""
        found = self.lab.rows(
            "SELECT conversation_handle FROM sys.conversation_endpoints "
            f"WHERE is_initiator = {initiator:d} AND state IN ('SO', 'CO');"
        )
        return self.random.choice(sorted(found))[0] if found else None

    def sends(self) -> None:
        body, who = f"0x{len(self.at) + 1:08X}", self.random.randrange(3)
        self.clients[who].execute(send(body, key=f"N'k{who}'" if self.named else None))
        places = [
            self.lab.rows(
                f"SELECT ConversationId, MessageSequence FROM audit.{table} "
                f"WHERE {TAIL.format('Body')} = {body} AND MessageType = N'{EVENT}';"
            )
            for table in ("SentMessage", "DeadLetter", "Landing")
        ]
        self.at[body] = next(found[0] for found in places if found)

    def quiet(self) -> None:
        """Everything is mended, and time passes."""
        for sql in (MENDED, TAKES.format("ON"), READS.format("ON")):
            self.lab.rows(sql)
        self.lab.advance(5000)

    def asked(self) -> None:
        """Ask of each message, and compare with what the tables say of its bytes."""
        for body, (conversation, number) in self.at.items():
            found = trace(self.lab, f"@id = '{conversation}', @sequence = {number}")
            self.words[found.word] += 1
            landed, copies, letters, word = self.truth(body)
            assert found.word == word, (body, found)
            assert sorted(one["detail"] for one in found.all("landed")) == landed
            assert (
                sorted((one["conversation"], one["sequence"]) for one in found.all("copied"))
                == copies
            )
            assert (
                sorted(int(one["detail"].split()[0]) for one in found.all("dead letter")) == letters
            )

    def truth(self, body: str) -> tuple[list[str], list[tuple], list[int], str]:
        """Rows of Landing, copies, dead letters, and the word for all that."""

        def with_body(
            columns: str, table: str, kind: str = "MessageType", at: str = "Body"
        ) -> list[tuple]:
            return self.lab.rows(
                f"SELECT {columns} FROM audit.{table} "
                f"WHERE {TAIL.format(at)} = {body} AND {kind} = N'{EVENT}';"
            )

        version = "CONVERT(nvarchar(18), CONVERT(binary(8), RowVersion), 1)"
        landed = with_body(f"CONCAT(N'RowVersion ', {version})", "Landing")
        copies = with_body("ConversationId, MessageSequence", "SentMessage")
        letters = with_body("DeadLetterId, HandledUtc", "DeadLetter")
        queued = with_body("1", "TargetQueue", "message_type_name", "message_body")
        if landed:
            word = LANDED
        elif copies:
            word = QUEUED if queued and self.is_open(copies[0][0]) else PENDING
        else:
            word = DEAD
        return (
            sorted(text for (text,) in landed),
            sorted(copies),
            sorted(one for one, _ in letters),
            word,
        )

    def is_open(self, conversation: str) -> bool:
        return bool(
            self.lab.rows(
                "SELECT 1 FROM sys.conversation_endpoints WHERE is_initiator = 1 "
                f"AND state IN ('SO', 'CO') AND conversation_id = '{conversation}';"
            )
        )

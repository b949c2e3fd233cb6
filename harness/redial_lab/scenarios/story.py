"""What all stories share: senders that keep count, queues switched off and on, and the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from redial.config import Config, load
from redial.operate.evidence import Evidence, Identity, collect
from redial.paths import CONFIGS
from redial.render.quoting import literal, quote_name
from redial_lab.scenarios.flights import identity
from redial_lab.scenarios.port import Answer, Client, Port
from redial_lab.scenarios.total_queue import Expected, Ledger, TotalQueue, total_queue

PATIENCE = 60.0
"""Seconds a batch may take before the story is given up."""


class StoryError(RuntimeError):
    """The story cannot be told on this server; the text says why."""


@dataclass(frozen=True)
class Scenario:
    """A story and what it needs."""

    name: str
    """As the user types it."""
    tell: Callable[[Story], None]
    """The story."""
    mutant: str
    """A known-bad variant that it catches."""
    config: str = "audit"
    """The shipped configuration it starts from."""
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Sections of it that are different."""
    expected: Expected = field(default_factory=Expected)
    """What it brings about on purpose."""
    differs: tuple[str, ...] = ()
    """Where servers differ, in sentences."""
    scale: int = 1
    """What its rates are divided by."""

    @property
    def model(self) -> Config:
        """The configuration it deploys."""
        data = load(CONFIGS / f"{self.config}.toml").model_dump(by_alias=True, mode="json")
        for section, values in self.changes.items():
            data[section] |= values
        return Config.model_validate(data)


class Sender:
    """A caller: one connection, its numbered messages, and what it was told about each."""

    def __init__(self, story: Story, number: int, key: str | None) -> None:
        self.story, self.number, self.key = story, number, key
        self.client = story.port.client()
        self.next = 0
        self._asked: list[int] = []
        self._open: list[int] = []

    def starts(self, count: int, in_transaction: int = 0) -> None:
        """Send that many, in transactions of so many messages (0: autocommit); do not wait."""
        first, self.next = self.next, self.next + count
        self._asked = list(range(first, self.next))
        self.story.ledger.attempted |= {(self.number, n) for n in self._asked}
        self.client.starts(self._burst(first, in_transaction))

    def begins(self) -> None:
        """Open a transaction of the caller's own."""
        self.story.does(self.client, "BEGIN TRANSACTION;")

    def commits(self) -> None:
        """Commit it: what was sent in it is now acknowledged."""
        self.story.does(self.client, "COMMIT TRANSACTION;")
        self.story.ledger.acknowledged |= {(self.number, n) for n in self._open}
        self._open = []

    def rolls_back(self) -> None:
        """Roll it back: nothing of it was sent."""
        self.story.does(self.client, "ROLLBACK TRANSACTION;")
        self._open = []

    def hears(self) -> Answer:
        """The answer to what it started, entered in the ledger."""
        answer, ledger = self.client.answer(), self.story.ledger
        told = {n for low, high, over in answer.rows if over for n in range(low, high + 1)}
        self._open += [
            n for low, high, over in answer.rows if not over for n in range(low, high + 1)
        ]
        ledger.acknowledged |= {(self.number, n) for n in told}
        if not answer.broken:  # else what the driver says of the break differs; unknown counts it
            ledger.errors += answer.errors
        if answer.broken:
            ledger.unknown |= {(self.number, n) for n in {*self._asked, *self._open} - told}
            self.client, self._open = self.story.port.client(), []
        elif answer.errors:
            self._open = []
            self.story.does(self.client, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
        self._asked = []
        return answer

    def gives_up(self) -> None:
        """Leave without an answer, and come back on another connection."""
        self.client.leaves()
        self.story.ledger.unknown |= {(self.number, n) for n in (*self._asked, *self._open)}
        self._asked, self._open = [], []
        self.client = self.story.port.client()

    def _burst(self, first: int, in_transaction: int) -> str:
        key = literal(self.key) if self.key is not None else "NULL"
        return (
            f"EXECUTE dbo.Burst @client = {self.number}, @first = {first}, "
            f"@last = {self.next - 1}, @size = {in_transaction}, @key = {key};"
        )


class Story:
    """A configuration installed on a server, its callers, and their ledger."""

    def __init__(
        self,
        scenario: Scenario,
        port: Port,
        mutant: str | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.scenario, self.port, self.say, self.scale = scenario, port, say, scenario.scale
        self.config = scenario.model
        self.schema = quote_name(self.config.schema_name)
        self.ledger, self.expected = Ledger(), scenario.expected
        self.problems: list[str] = []
        self.senders: list[Sender] = []
        self.booked: dict[str, int] = {}
        self.say(
            f"installing configuration {self.config.name} on {port.label}"
            + (f", COMPARISON ONLY: {mutant}" if mutant else "")
        )
        port.install(self.config, mutant)
        self.dba = port.client()
        self.sql(_burst_procedure(self.config))

    # ------------------------------------------------------------------ callers
    def sender(self, key: str | None = None) -> Sender:
        """A new caller; key: what it calls its dialog, where the configuration has such keys."""
        sender = Sender(self, len(self.senders), key)
        self.senders.append(sender)
        return sender

    def together(self, senders: Iterable[Sender], count: int, in_transaction: int = 0) -> None:
        """All of them send at one time, and all are answered."""
        crowd = list(senders)
        for sender in crowd:
            sender.starts(count, in_transaction)
        self.all_answered(crowd)

    def rounds(self, seconds: float) -> Iterator[int]:
        """Numbers from 1 on, until that much time has passed on the server's clock."""
        end, number = self.port.now() + seconds, 0
        while self.port.now() < end:
            number += 1
            yield number

    def all_answered(self, senders: Iterable[Sender]) -> None:
        """Everybody who has started gets the answer; who waits for ever gives up and is told of."""
        crowd = list(senders)
        self.port.settle([sender.client for sender in crowd], PATIENCE)
        for sender in crowd:
            if not sender.client.finished():
                self.problems.append(f"caller {sender.number} waited {PATIENCE:.0f} s in vain")
                sender.gives_up()
                continue
            sender.hears()

    # ------------------------------------------------------------------ the server
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """A batch of the administrator's; its rows."""
        return self.does(self.dba, text)

    def does(self, client: Client, text: str) -> list[tuple[Any, ...]]:
        """A batch that must succeed. Raises StoryError."""
        client.starts(text)
        self.port.settle([client], PATIENCE)
        if not client.finished():
            raise StoryError(f"still waits after {PATIENCE:.0f} s: {text}")
        answer = client.answer()
        if answer.errors:
            number, words = answer.errors[0]
            raise StoryError(f"{number}: {words} ({text})")
        return answer.rows

    def queue(self, side: str, setting: str) -> None:
        """ALTER QUEUE of ``initiator`` or ``target`` WITH this setting."""
        name = quote_name(getattr(self.config.queues, side))
        self.sql(f"ALTER QUEUE {self.schema}.{name} WITH {setting};")

    def kill(self, session: int) -> bool:
        """KILL as an administrator does; False when it was gone before."""
        self.dba.starts(f"KILL {session};")
        self.port.settle([self.dba], PATIENCE)
        return not self.dba.answer().errors

    def readers(self) -> list[int]:
        """Sessions of activated readers, of either side."""
        return [
            row[0]
            for row in self.sql(
                "SELECT bt.spid FROM sys.dm_broker_activated_tasks AS bt "
                "WHERE bt.database_id = DB_ID() ORDER BY bt.spid;"
            )
        ]

    def count(self, source: str) -> int:
        """Rows of a table or queue of the configuration: ``Landing``, ``Landing WHERE ...``."""
        rows: int = self.sql(f"SELECT COUNT(*) FROM {self.schema}.{source};")[0][0]
        return rows

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        if not self.port.virtual and seconds >= 10:
            self.say(f"waiting {seconds:,.0f} s: a real server's time cannot be hurried")
        self.port.wait(seconds)

    # ------------------------------------------------------------------ the end
    @property
    def age(self) -> float:
        """Seconds in which every dialog is replaced and has ended, retries included."""
        timer = self.config.timer
        return timer.after_seconds + timer.spread_seconds + 4 * timer.retry_seconds + 5

    def insists(self, truth: bool, text: str) -> None:
        """A claim of this story's own; a false one spoils the verdict."""
        if not truth:
            self.problems.append(text)

    def rests(self, seconds: float | None = None) -> bool:
        """Wait until queues are empty and every dialog has ended; False when time runs out."""
        left = self.age if seconds is None else seconds
        step = max(1.0, self.config.timer.retry_seconds / 2)
        while not self._at_rest():
            if left <= 0:
                return False
            self.wait(min(step, left))
            left -= step
        return True

    def _at_rest(self) -> bool:
        names = f"{literal(self.config.services.initiator)}, {literal(self.config.services.target)}"
        queues = " + ".join(
            f"(SELECT COUNT(*) FROM {self.schema}.{quote_name(name)} WITH (NOLOCK))"
            for name in (self.config.queues.initiator, self.config.queues.target)
        )
        return self.sql(
            f"SELECT {queues} + (SELECT COUNT(*) FROM sys.transmission_queue) + "
            "(SELECT COUNT(*) FROM sys.conversation_endpoints AS ce INNER JOIN sys.services AS s "
            f"ON s.service_id = ce.service_id WHERE s.name IN ({names}) "
            "AND ce.state_desc <> N'CLOSED');"
        ) == [(0,)]

    def evidence(self) -> Evidence:
        """What the server can be asked."""
        found = collect(_Connection(self), self.config, identity)
        found.booked = self.booked
        return found

    def closes_the_books(self) -> None:
        """Account for what has landed, and delete it: a long story's memory is not the day's.

        Each message must be an acknowledged one, and the next of its conversation.
        """
        of_callers = f"MessageType = {literal(self.config.message_types[0].name)}"
        ranks = []
        for conversation, sequence, body, rank in self.sql(
            "SELECT ConversationId, MessageSequence, Body, LandedRank = CAST(RowVersion AS "
            f"bigint) FROM {self.schema}.Landing WHERE {of_callers} "
            "ORDER BY ConversationId, MessageSequence;"
        ):
            name, place = identity(body), str(conversation).upper()
            if sequence != self.booked.get(place, 0) or name not in self.ledger.acknowledged:
                self.problems.append(
                    f"books: number {sequence} of {place} is {name}, which is not "
                    "the next one, or nobody was told that it is sent"
                )
            self.booked[place] = sequence + 1
            self.ledger.acknowledged.discard(name)
            self.ledger.attempted.discard(name)
            ranks.append(rank)
        if ranks:
            self.sql(
                f"DELETE {self.schema}.Landing WHERE {of_callers} "
                f"AND CAST(RowVersion AS bigint) <= {max(ranks)};"
            )

    def verdict(self) -> TotalQueue:
        """Come to rest and account for everything."""
        quiet = self.rests()
        found = total_queue(self.ledger, self.evidence(), self.expected, quiet)
        found.problems += self.problems
        booked = sum(self.booked.values())
        found.attempted += booked
        found.acknowledged += booked
        found.landed += booked
        return found

    def expects_dead(self, messages: Iterable[Identity]) -> None:
        """These were made to be dead-lettered."""
        self.expected = replace(self.expected, dead=self.expected.dead | frozenset(messages))


def told(
    scenario: Scenario,
    port: Port,
    mutant: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> TotalQueue:
    """Tell the story and judge it. Raises StoryError, DeployError or what a driver raises."""
    story = Story(scenario, port, mutant, say)
    with leaving(story):
        scenario.tell(story)
        say("the load is over; waiting for everything to come to rest")
        return story.verdict()


@contextmanager
def leaving(story: Story) -> Iterator[None]:
    """Every connection is closed at the end."""
    try:
        yield
    finally:
        for client in (*(sender.client for sender in story.senders), story.dba):
            client.leaves()


class _Connection:
    """As much of a DB-API connection as ``collect`` needs."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> _Connection:
        return self

    def execute(self, sql: str) -> _Connection:
        self._rows = self._story.sql(sql)
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        """Nothing of its own."""


def _burst_procedure(config: Config) -> str:
    """A caller's loop beside the server, so that a story's load is not the network's.

    One row per commit: first and last number of what it acknowledges, and whether it is over or
    hangs on a transaction of the caller's.
    """
    call = ", ".join(
        literal(value)
        for value in (
            config.services.initiator,
            config.services.target,
            config.contract.name,
            config.message_types[0].name,
        )
    )
    key = ", @key" if config.traits.named else ""
    return f"""CREATE PROCEDURE dbo.Burst
    @client int, @first int, @last int, @size int, @key nvarchar(200)
AS
SET NOCOUNT ON;
DECLARE @n int = @first, @from int = @first, @body varbinary(max), @outer int = @@TRANCOUNT;
WHILE @n <= @last
BEGIN
    IF @size > 0 AND @@TRANCOUNT = @outer
        BEGIN TRANSACTION;
    SET @body = CONVERT(varbinary(max), CONCAT('{{"client":', @client, ',"number":', @n, '}}'));
    EXECUTE {quote_name(config.schema_name)}.usp_Send {call}, @body{key};
    IF @@TRANCOUNT > @outer AND ((@n - @first + 1) % @size = 0 OR @n = @last)
        COMMIT TRANSACTION;
    IF @@TRANCOUNT = @outer
    BEGIN
        SELECT @from AS FirstNumber, @n AS LastNumber,
            CASE WHEN @outer = 0 THEN 1 ELSE 0 END AS IsOver;
        SET @from = @n + 1;
    END;
    SET @n += 1;
END;"""

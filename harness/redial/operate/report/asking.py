"""What the databases of an installation are asked for a report: bounded, and waiting for nobody.

Each question is one of its own: one that is refused is named, with the role that may ask it, and keeps
nobody from the others. No body of a message is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redial.config import Config
from redial.config.choices import Processing
from redial.odbc import NOT_ALLOWED, server_message
from redial.operate.doctor import Place
from redial.operate.report.model import Unseen
from redial.quoting import literal, qualified, quote_name
from redial.server import EMBEDDED_LABEL, label_of

LOOKED = 200_000
"""Rows of a table that are read at most."""
SHOWN = 300
"""Characters of a reason that are read."""
LANDING_PURGED, LETTERS_PURGED, LOGS_PURGED = "usp_PurgeLanding", "purge dead letters", "purge logs"
"""How OperatorLog calls what takes rows away."""
OPERATORS, READERS = "operator", "reader"


class Dialog(NamedTuple):
    """A row of ConversationLog; times in milliseconds since 1970, of the server's clock, UTC."""

    conversation: str
    private: bool
    """It carries what was on another dialog, or a dead letter."""
    begun: int
    end_of_stream: int | None
    ended: int | None
    messages: int | None
    resent: int | None
    dead: int | None
    code: int | None
    reason: str | None


class Copy(NamedTuple):
    """A message that waits: its sender has a copy."""

    conversation: str
    sequence: int
    sent: int


class Landed(NamedTuple):
    """A row of Landing."""

    conversation: str
    sequence: int
    user: bool
    """A caller sent it: no EndOfStream, no Error."""
    landed: int
    sent: int | None
    """Out of the envelope; None: it carries none."""


class Dead(NamedTuple):
    """Dead letters of one dialog with the same code."""

    conversation: str
    side: str
    type: str
    code: int | None
    handling: str | None
    handled: bool
    letters: int
    first: int
    last: int
    reason: str | None


@dataclass(frozen=True)
class Server:
    """What a server says of itself."""

    label: str
    """EMBEDDED_LABEL, or empty."""
    name: str
    version: str
    edition: str
    database: str
    login: str
    now: int
    """Its clock, UTC."""
    installed: bool


@dataclass
class Facts:
    """All that was found. None: it could not be looked at, and ``unseen`` says why."""

    now: int
    since: int
    dialogs: list[Dialog] | None = None
    waiting: list[Copy] | None = None
    landed: list[Landed] | None = None
    """The newest first."""
    landed_cut: bool = False
    """Whether there are more than were read."""
    hooked: bool = False
    """A procedure of the user's takes the messages: Landing has none of them."""
    dead: list[Dead] | None = None
    dead_cut: bool = False
    purged: dict[str, int] | None = None
    """What took rows away, and when last."""
    unseen: list[Unseen] = field(default_factory=list)

    def still_waiting(self) -> list[Copy]:
        """Without what has landed: in two databases a copy stays until the sender knows."""
        names = {one.conversation for one in self.waiting or ()}
        there = {
            (row.conversation, row.sequence)
            for row in self.landed or ()
            if row.conversation in names
        }
        return [one for one in self.waiting or () if (one.conversation, one.sequence) not in there]


class Asking:
    """A connection to one database, and what could not be asked there."""

    def __init__(self, connection: Any, config: Config, place: Place, wait_seconds: int) -> None:
        connection.timeout = max(1, wait_seconds)
        self._connection = connection
        self._config = config
        self.place = place
        self.unseen: list[Unseen] = []

    def server(self) -> Server:
        """Who answers. Raises the driver's errors."""
        own = literal(qualified(self._config.schema_name, "ConversationLog"))
        [row] = self._rows(
            "SELECT @@VERSION, CONVERT(nvarchar(256), SERVERPROPERTY(N'ServerName')), "
            "CONVERT(nvarchar(256), SERVERPROPERTY(N'ProductVersion')), "
            "CONVERT(nvarchar(256), SERVERPROPERTY(N'Edition')), DB_NAME(), ORIGINAL_LOGIN(), "
            f"{_ms('SYSUTCDATETIME()')}, CASE WHEN OBJECT_ID({own}, N'U') IS NULL THEN 0 ELSE 1 END;"
        )
        label = EMBEDDED_LABEL if label_of(str(row[0])) == EMBEDDED_LABEL else ""
        name, version, edition, database, login = (str(one or "") for one in row[1:6])
        return Server(
            label, name, version, edition, database, login, now=int(row[6]), installed=bool(row[7])
        )

    def rows(self, what: str, sql: str, roles: Iterable[str]) -> list[Any] | None:
        """A query's rows; None where it fails: that is kept. roles: who may ask."""
        try:
            return self._rows(sql)
        except Exception as error:  # of any driver
            number, text = server_message(error)
            names = [getattr(self._config.roles, role) for role in roles]
            next = "redial verify says what is not as it was deployed; then run the command again"
            if number == NOT_ALLOWED:
                ways = " or ".join(f"ALTER ROLE {quote_name(one)} ADD MEMBER .." for one in names)
                next = f"let a member of db_owner run there, for this login's user: {ways}"
            shown = f"{text}{f' ({number})' if number else ''}"
            self.unseen.append(Unseen(self.place, what, shown, next))
            return None

    def _rows(self, sql: str) -> list[Any]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(f"SET NOCOUNT ON; SET LOCK_TIMEOUT 1000;\n{sql}")
            while cursor.description is None and cursor.nextset():
                pass
            return list(cursor.fetchall())


def collect(facts: Facts, config: Config, sender: Asking, target: Asking | None) -> None:
    """Ask both sides, the sender first: what has ended there does not move any more.

    facts: gets the answers. target: the same as sender where there is one database; None: nobody can be
    asked there.
    """
    facts.hooked = config.target.processing == Processing.HOOK
    _dialogs(facts, config, sender)
    _waiting(facts, config, sender)
    if target and not facts.hooked:
        _landed(facts, config, target)
    asked = list(dict.fromkeys([sender, target]))
    letters = [_dead(one, config) if one else None for one in asked]
    known = [one for one in letters if one is not None]
    facts.dead = [row for one in known for row in one] if len(known) == len(letters) else None
    facts.dead_cut = any(sum(row.letters for row in one) > LOOKED for one in known)
    purges = [_purged(one, config) if one else None for one in asked]
    seen = [one for one in purges if one is not None]
    if len(seen) == len(purges):
        facts.purged = {}
        for one in seen:
            for action, when in one.items():
                facts.purged[action] = max(when, facts.purged.get(action, 0))
    for each in asked:
        facts.unseen += each.unseen if each else []


def _ms(expression: str) -> str:
    """A time in milliseconds since 1970."""
    return f"DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '19700101'), {expression})"


def _dialogs(facts: Facts, config: Config, sender: Asking) -> None:
    found = sender.rows(
        "what was sent, and what became of dialogs",
        f"SELECT TOP ({LOOKED + 1}) cl.ConversationId, CASE WHEN cl.ResendOf IS NULL THEN 0 ELSE 1 END, "
        f"{_ms('cl.BegunUtc')}, {_ms('cl.EndOfStreamUtc')}, {_ms('cl.EndedUtc')}, cl.Messages, cl.Resent, "
        f"cl.DeadLettered, cl.Code, CASE WHEN cl.Code <> 0 THEN LEFT(cl.Reason, {SHOWN}) END "
        f"FROM {qualified(config.schema_name, 'ConversationLog')} AS cl WITH (NOLOCK);",
        (OPERATORS, READERS),
    )
    if found is not None and len(found) > LOOKED:
        why = f"ConversationLog has more than {LOOKED:,} dialogs, and a part of them makes no sum"
        next = "keep fewer days: [retention].log_days, and usp_PurgeLogs"
        sender.unseen.append(Unseen(sender.place, "the sums over all dialogs", why, next))
        return
    if found is not None:
        facts.dialogs = [Dialog(_id(row[0]), bool(row[1]), *row[2:]) for row in found]


def _waiting(facts: Facts, config: Config, sender: Asking) -> None:
    found = sender.rows(
        "messages that wait",
        f"SELECT TOP ({LOOKED + 1}) u.ConversationId, u.MessageSequence, {_ms('u.SinceUtc')} "
        f"FROM {qualified(config.schema_name, 'vw_Unlanded')} AS u WHERE u.Status = N'pending';",
        (OPERATORS, READERS),
    )
    if found is not None and len(found) > LOOKED:
        why = f"more than {LOOKED:,} messages wait, and no more were counted"
        next = "docs/runbook/backlog.md; then run the command again"
        sender.unseen.append(Unseen(sender.place, "messages that wait", why, next))
        return
    if found is not None:
        facts.waiting = [Copy(_id(row[0]), *row[1:]) for row in found]


def _landed(facts: Facts, config: Config, target: Asking) -> None:
    types = ", ".join(literal(one.name) for one in config.message_types)
    found = target.rows(
        "what landed",
        f"SELECT TOP ({LOOKED + 1}) l.ConversationId, l.MessageSequence, "
        f"CASE WHEN l.MessageType IN ({types}) THEN 1 ELSE 0 END, {_ms('l.LandedUtc')}, {_ms('l.SentUtc')} "
        f"FROM {qualified(config.schema_name, 'Landing')} AS l WITH (NOLOCK) ORDER BY l.RowVersion DESC;",
        (READERS,),
    )
    if found is not None:
        facts.landed_cut = len(found) > LOOKED
        facts.landed = [Landed(_id(row[0]), row[1], bool(row[2]), *row[3:]) for row in found]
        del facts.landed[LOOKED:]


def _dead(asked: Asking, config: Config) -> list[Dead] | None:
    found = asked.rows(
        "dead letters",
        "SELECT d.ConversationId, d.Side, d.MessageType, d.Code, d.Handling, d.Handled, COUNT(*), "
        f"{_ms('MIN(d.AddedUtc)')}, {_ms('MAX(d.AddedUtc)')}, MIN(d.Reason) "
        f"FROM (SELECT TOP ({LOOKED + 1}) dl.ConversationId, dl.Side, dl.MessageType, dl.Code, dl.Handling, "
        "CASE WHEN dl.HandledUtc IS NULL THEN 0 ELSE 1 END AS Handled, dl.AddedUtc, "
        f"LEFT(dl.Reason, {SHOWN}) AS Reason "
        f"FROM {qualified(config.schema_name, 'DeadLetter')} AS dl WITH (NOLOCK) "
        "ORDER BY dl.DeadLetterId DESC) AS d "
        "GROUP BY d.ConversationId, d.Side, d.MessageType, d.Code, d.Handling, d.Handled;",
        (OPERATORS,),
    )
    if found is None:
        return None
    letters = [
        Dead(_id(row[0]), row[1], row[2] or "", row[3], row[4], bool(row[5]), *row[6:])
        for row in found
    ]
    if sum(one.letters for one in letters) > LOOKED:
        why = f"there are more than {LOOKED:,}, and the oldest were not read"
        asked.unseen.append(
            Unseen(asked.place, "all dead letters", why, "EXECUTE usp_PurgeDeadLetter")
        )
    return letters


def _purged(asked: Asking, config: Config) -> dict[str, int] | None:
    actions = ", ".join(literal(one) for one in (LANDING_PURGED, LETTERS_PURGED, LOGS_PURGED))
    found = asked.rows(
        "whether rows were purged",
        f"SELECT o.Action, {_ms('MAX(o.AddedUtc)')} FROM (SELECT TOP (10000) ol.Action, ol.AddedUtc "
        f"FROM {qualified(config.schema_name, 'OperatorLog')} AS ol WITH (NOLOCK) "
        f"ORDER BY ol.OperatorLogId DESC) AS o WHERE o.Action IN ({actions}) GROUP BY o.Action;",
        (OPERATORS,),
    )
    return None if found is None else {action: int(when) for action, when in found}


def _id(value: Any) -> str:
    """A GUID as text; drivers give them in either case."""
    return "" if value is None else str(value).upper()

"""What a server can be asked when everything has come to rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from redial.config import Config
from redial.envelope import caller_bytes, key_of
from redial.render.quoting import literal, quote_name
from redial_lab.torture.caller_journal import Name, Row, name_of

Ask = Callable[[str, str], list[Row]]
"""(query, '' for the sender's database or the target's) -> rows."""

Number = tuple[str, int]
"""A key and a message's number within it."""


@dataclass(frozen=True)
class Landed:
    """A row of Landing."""

    name: Name
    conversation: str
    sequence: int
    order: int
    """Its rowversion."""
    number: Number | None


@dataclass
class Evidence:
    """What is there when nothing moves any more."""

    landed: list[Landed] = field(default_factory=list)
    dead: list[tuple[Name | None, Number | None]] = field(default_factory=list)
    """Dead letters, replayed or not."""
    waiting: dict[str, list[tuple[Name | None, Number | None]]] = field(default_factory=dict)
    """Where what has not landed lies."""
    skipped: set[Number] = field(default_factory=set)
    """Numbers that will never land and are shown."""
    private: set[str] = field(default_factory=set)
    """Dialogs of messages that were sent again."""
    leaked: list[str] = field(default_factory=list)
    """In words."""
    one_sided: list[str] = field(default_factory=list)
    """Of leaked dialogs whose other side is not there at all."""
    switched_off: int = 0
    """How often a queue was found off that nobody had switched off."""
    held: list[str] = field(default_factory=list)
    """In words."""
    logged: dict[int, int] = field(default_factory=dict)
    strangers: int = 0


def collect(config: Config, ask: Ask, login: str) -> Evidence:
    """Everything, by queries of an administrator's. login: the callers'."""
    found = Evidence()
    look = _Look(config, ask)
    _landing(look, found)
    for database in look.databases:
        for (body,) in look.table("DeadLetter", "Body", database, look.user_messages):
            found.dead.append((name_of(caller_bytes(body)), key_of(body)))
        for number, count in look.table(
            "ErrorLog", "ErrorNumber, COUNT(*)", database, "1 = 1 GROUP BY ErrorNumber"
        ):
            found.logged[number or 0] = found.logged.get(number or 0, 0) + count
    _waiting(look, found)
    found.skipped = {
        (key, number)
        for key, number in look.table(
            "SkippedNumber", "ConversationKey, KeySequence", look.databases[-1]
        )
    } | {
        (key, number)
        for key, number in look.table("SkippedNumber", "ConversationKey, KeySequence", "")
    }
    found.private = {
        str(one)
        for (one,) in look.table("ConversationLog", "ConversationId", "", "ResendOf IS NOT NULL")
    }
    found.leaked, found.one_sided = _leaked(look)
    found.held = [
        f"session {session} holds a transaction"
        for (session,) in ask(
            "SELECT es.session_id FROM sys.dm_exec_sessions AS es WHERE es.open_transaction_count > 0 "
            f"AND es.login_name = {literal(login)};",
            "",
        )
    ]
    return found


class _Look:
    """Queries of one configuration."""

    def __init__(self, config: Config, ask: Ask) -> None:
        self.config, self.ask = config, ask
        self.schema = quote_name(config.schema_name)
        self.apart = config.target.database or ""
        self.databases = ["", self.apart] if self.apart else [""]
        types = ", ".join(literal(one.name) for one in config.message_types)
        self.user_messages = f"MessageType IN ({types})"

    def table(self, name: str, columns: str, database: str, condition: str = "1 = 1") -> list[Row]:
        """Rows of a table of ours; none where the installation has no such table."""
        known = self.ask(
            f"SELECT OBJECT_ID({literal(f'{self.schema}.{quote_name(name)}')});", database
        )
        if known[0][0] is None:
            return []
        return self.ask(
            f"SELECT {columns} FROM {self.schema}.{quote_name(name)} WHERE {condition};", database
        )


def _landing(look: _Look, found: Evidence) -> None:
    numbered = look.config.conversation.order.value == "key"
    # A dialog by its handle: what was received after its endpoint was gone has no id.
    columns = "ConversationHandle, MessageSequence, CAST(RowVersion AS bigint), Body"
    columns += ", ConversationKey, KeySequence" if numbered else ", NULL, NULL"
    for conversation, sequence, order, body, key, number in look.table(
        "Landing", columns, look.apart, look.user_messages
    ):
        name = name_of(caller_bytes(body))
        if name is None:
            found.strangers += 1
            continue
        found.landed.append(
            Landed(
                name,
                str(conversation),
                sequence,
                order,
                (key, number) if numbered and number is not None else None,
            )
        )


def _waiting(look: _Look, found: Evidence) -> None:
    def keep(where: str, bodies: list[Row]) -> None:
        if bodies:
            found.waiting[where] = [
                (name_of(caller_bytes(body)), key_of(body)) for (body,) in bodies
            ]

    keep("SentMessage", look.table("SentMessage", "Body", "", look.user_messages))
    for database in look.databases:
        keep(
            "the transmission queue" + (" of the target" if database else ""),
            look.ask("SELECT message_body FROM sys.transmission_queue;", database),
        )
    for side, database in (("initiator", ""), ("target", look.apart)):
        name = quote_name(getattr(look.config.queues, side))
        keep(
            f"the {side}'s queue",
            look.ask(f"SELECT message_body FROM {look.schema}.{name} WITH (NOLOCK);", database),
        )


def _leaked(look: _Look) -> tuple[list[str], list[str]]:
    """Endpoints that are not over and belong to no dialog a sender would find: of dialogs that have
    both sides, even if one is closed, and of those that have one.
    """
    services = look.config.services
    used = {str(one) for (one,) in look.table("SessionConversations", "Handle", "")}
    used |= {str(one) for (one,) in look.table("Everlasting", "Handle", "")}
    timed = look.config.conversation.recycle.value == "timer"
    ends: dict[str, list[Row]] = {}
    for database in look.databases:
        for row in look.ask(
            "SELECT ce.conversation_id, ce.is_initiator, ce.state, ce.conversation_handle "
            "FROM sys.conversation_endpoints AS ce INNER JOIN sys.services AS s ON "
            f"s.service_id = ce.service_id WHERE s.name IN ({literal(services.initiator)}, "
            f"{literal(services.target)});",
            database,
        ):
            ends.setdefault(str(row[0]), []).append(row[1:])
    leaked: tuple[list[str], list[str]] = ([], [])
    for sides in ends.values():
        alive = any(initiator and str(handle) in used for initiator, _, handle in sides)
        words = sorted(
            f"{'initiator' if initiator else 'target'} {state}" for initiator, state, _ in sides
        )
        if (timed or not alive) and any(state != "CD" for _, state, _ in sides):
            text = ("not recycled: " if alive else "") + " and ".join(words)
            leaked[len(sides) == 1].append(text)
    return sorted(leaked[0]), sorted(leaked[1])

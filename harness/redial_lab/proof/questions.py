"""The questions people have asked since 2007, and the searches that answer them.

Each answer is ours, in words; each search says what it must find for the answer to stand
(``Search.finds``), and the page says so when it finds something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial_lab.explore.checks import Check, all_of
from redial_lab.explore.scenario import LIVELOCK, Client, Scenario
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import (
    DATABASE,
    TARGET_IN_ONE_GO,
    TIDY,
    deployed,
    end_of_stream_once,
    send,
    small_config,
)
from redial_lab.proof.claims import AT_REST, ON_EVERY_STATE, claims
from redial_lab.proof.comparators import forum_aged, forum_pair, send_shared, shared_dialog
from redial_lab.proof.matrix import Cell, Story, deadlocks, scenario, waits
from redial_lab.proof.question_model import Made, Question, Search
from redial_lab.proof.setups import Setup
from redial_lab.proof.strategies import queue_on

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

WAITS = "a sender waits for a sender"
TOGETHER = "two readers of the target hold messages at once"


# ---------------------------------------------------------------------- what is looked for
def sender_waits(world: World) -> list[str]:
    """A sender waits for another sender's lock: nothing wrong, but the answer to some questions."""
    return [WAITS] if WAITS in waits(world) else []


def together(world: World) -> list[str]:
    """Two readers of the target are between RECEIVE and COMMIT, each with a conversation group."""
    holding = set()
    for (kind, *_), resource in world.instance.engine.locks.resources.items():
        if kind == "CONVERSATION_GROUP":
            holding |= {
                owner.owner.id
                for owner in resource.granted
                if owner.owner is not None and _in_the_target(cast("SessionState", owner.owner))
            }
    return [TOGETHER] if len(holding) > 1 else []


def _in_the_target(session: SessionState) -> bool:
    return any(frame.program.full_name.endswith("usp_TargetActivation") for frame in session.frames)


def _ours(text: str, *more: Check) -> Made:
    """A setup of ours with every claim, every deadlock, and more checks of every state."""

    def make() -> Scenario:
        setup = Setup.parse(text)
        subject = setup.subject
        always = {name: claim for name, claim in ON_EVERY_STATE.items() if name != "S1"}
        return replace(
            setup.scenario(),
            at_the_end=claims(subject, AT_REST),
            on_every_state=all_of(claims(subject, always), deadlocks, *more),
        )

    return Made(make, lambda: Setup.parse(text).config)


def _cell(text: str, **fields: Any) -> Made:  # each has a type of its own
    """A cell of the matrix in a story of its own. fields: of ``Setup``."""
    story = Story(", ".join(f"{name} {value}" for name, value in fields.items()), fields)
    cell = Cell.parse(text)
    return Made(lambda: scenario(cell, story), lambda: cell.setup(story).config)


def _theirs(mutant: str, make: Callable[[], Scenario], *more: Check) -> Made:
    """Somebody else's text with his scenario's checks at rest, and deadlocks with who dies."""

    def made() -> Scenario:
        plain = make()
        return replace(
            plain,
            on_every_state=all_of(deadlocks, queue_on, *more),
            at_the_end=all_of(plain.at_the_end, end_of_stream_once),
            livelock=LIVELOCK,
        )

    return Made(made, mutant=mutant)


def _pair(mutant: str) -> Made:
    return _theirs(mutant, lambda: forum_pair(in_transaction=True, name=mutant))


def _first_edition(caller: str, **fields: Any) -> Made:  # of ``Setup``
    """Seed 000 with the hint it had first, under the checks of the article's cells."""

    def make() -> Scenario:
        made = _cell(f"spid timer article updlock rc {caller}", **fields).scenario()
        return replace(
            made,
            name=made.name.replace("article updlock", "article_holdlock"),
            prepare=lambda: deployed(small_config(), mutant="article_holdlock"),
        )

    return Made(make, mutant="article_holdlock")


def _aged(*, job: bool) -> Made:
    return _theirs("forum_aged", lambda: forum_aged(in_transaction=True, job=job))


def _polled(*, in_transaction: bool) -> Made:
    """His second idea: the same job, a send procedure that knows no age."""

    def make() -> Scenario:
        made = forum_aged(in_transaction=in_transaction, job=True)
        return replace(
            made,
            name=made.name.replace("forum_aged", "forum_polling"),
            prepare=lambda: deployed(small_config(), mutant="forum_polling"),
        )

    return _theirs("forum_polling", make)


def _shared() -> Scenario:
    """Seed 001: two applications in transactions of their own, a dialog that is there already."""
    clients = tuple(
        Client(
            f"sender {n}",
            (f"BEGIN TRANSACTION; {send_shared(f'{n}1')} COMMIT TRANSACTION;",),
            DATABASE,
            (send_shared("A0"),) if n == "A" else (),
            TIDY,
        )
        for n in "AB"
    )
    return Scenario(
        "shared_dialog, 2 callers in own transactions, RC",
        lambda: deployed(small_config(), mutant="shared_dialog"),
        clients,
        in_one_go=frozenset({"TargetQueue"}),
        notes=(TARGET_IN_ONE_GO,),
    )


SENT = ("A1A2A3", "B1B2B3")


def _resend() -> Scenario:
    """Seed 004 as published: two messages pend when every dialog is told -9719."""
    warm = tuple(send(body) for body in SENT)
    off = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"

    def cut(world: World) -> list[str]:
        broker = world.instance.server.database(DATABASE).broker
        pending = [
            row[2].hex().upper()
            for e in broker.endpoints.values()
            for row in e.pending.values()
            if row[2]
        ]
        return ["resent body cut"] if pending and not set(pending) <= set(SENT) else []

    return Scenario(
        "published_resend, 2 messages pend, the database is restored",
        lambda: deployed(small_config(), mutant="published_resend", first=(off,)),
        (
            Client("sender A", ("SELECT 1;",), DATABASE, warm),
            Client("operator", (RESTORED,), DATABASE),
        ),
        at_the_end=cut,
        firings=0,
        in_one_go=frozenset({"TargetQueue"}),
    )


RESTORED = "ALTER DATABASE Redial SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE;"


# ---------------------------------------------------------------------- the questions
LOST = "S2 message after EndOfStream"
ALIKE = "deadlock of usp_Send and usp_SenderActivation: "
POOL = "key=pool slots={} warm=0 firings=0 caller=transaction"

QUESTIONS: dict[str, Question] = {
    "000-2": Question(
        "seed 000, comment 2 (prasanth)",
        "Many instances of a web site send at once, one session after the other, and the receiver "
        "shall work in parallel. How do reuse and parallelism go together?",
        "By the key. `pool` is the round robin the article's author suggests, made safe: a send "
        "takes a slot nobody else is using and keeps it until it commits; with as many slots as "
        "senders nobody waits for anybody, with fewer a sender waits until a slot is given back. "
        "Slots are different dialogs, so readers of the target work on them at the same time. "
        "`application` with the relation as the key is his other suggestion: what belongs together "
        "stays in order on one dialog, and two readers never have messages of it at once. `spid` "
        "gives every session a dialog of its own; with pooled connections that is one for each "
        "connection, whoever uses it.",
        {
            "pool-two-slots": Search(
                "key pool, two slots, two senders in transactions",
                _ours(POOL.format(2), sender_waits),
            ),
            "pool-one-slot": Search(
                "the same with one slot", _ours(POOL.format(1), sender_waits), (WAITS,)
            ),
            "a-session-each": Search(
                "key spid, two senders in transactions",
                _ours("warm=2 firings=0 caller=transaction", sender_waits),
            ),
            "two-readers-two-slots": Search(
                "key pool, two slots, two senders, two readers of the target",
                _ours("key=pool slots=2 warm=0 firings=0 target_readers=2", together),
                (TOGETHER,),
            ),
            "two-readers-one-key": Search(
                "key application, one key, two senders, two readers of the target",
                _ours("key=application warm=0 firings=0 target_readers=2", together),
            ),
        },
        ("pool * two_phase updlock *", "application * two_phase updlock *"),
    ),
    "000-4": Question(
        "seed 000, comment 4 (John)",
        "The text says HOLDLOCK, the code UPDLOCK. Which one, and what is the difference?",
        "UPDLOCK, and neither is enough. HOLDLOCK keeps shared locks, on gaps too: two sessions "
        "that send for the first time both hold the gap and both want to insert, so one dies; two "
        "that share a key do the same over its row. UPDLOCK lets one in. But a lock that is to "
        "last until the SEND needs a transaction, and the article shows none: outside one a "
        "message follows EndOfStream under either hint. Inside one the activated procedure, which "
        "has the conversation group and wants the row, deadlocks with the sender, which has the "
        "row and wants the group, under either hint. Our usp_Send has a transaction of its own, "
        "and our activation gives the group back before it asks for the row (`two_phase`): with "
        "UPDLOCK nothing is found, with HOLDLOCK the first sends still deadlock.",
        {
            "holdlock-first-sends": Search(
                "the first edition, two first sends in transactions",
                _first_edition("transaction", warm=0, firings=0),
                ("deadlock of usp_Send and usp_Send: ",),
                True,
            ),
            "holdlock-recycled": Search(
                "the first edition, a sender in a transaction, its timer fires",
                _first_edition("transaction", senders=1),
                (ALIKE,),
                True,
            ),
            "holdlock-autocommit": Search(
                "the first edition, a sender without a transaction, its timer fires",
                _first_edition("autocommit", senders=1),
                (LOST, "S3", "S7"),
                True,
            ),
            "updlock-recycled": Search(
                "the edition we have, a sender in a transaction, its timer fires",
                _cell("spid timer article updlock rc transaction", senders=1),
                (ALIKE,),
                True,
            ),
            "updlock-autocommit": Search(
                "the edition we have, without a transaction, its timer fires",
                _cell("spid timer article updlock rc autocommit", senders=1),
                (LOST, "S3", "S7"),
                True,
            ),
        },
        ("spid timer two_phase *", "application timer two_phase *"),
    ),
    "002": Question(
        "seed 002, the proposals of the asker and of his answer",
        "The send and the activated procedure deadlock. Is it my code or the pattern, and which "
        "way out is right: deadlock priority, a lock timeout, a job that polls, or the age in the "
        "send procedure?",
        "The pattern: his code and the article's deadlock alike. "
        "**Deadlock priority** makes the activated procedure the victim; the deadlocks stay, and "
        "each is a rollback towards the five that switch the queue off. "
        "**LOCK_TIMEOUT 0, message back to the queue** ends the deadlocks; a sender that takes its "
        "time is enough for five rollbacks and the queue is off, after which the procedure as "
        "worded goes round for ever. Improved (`lock_timeout_rearm`: arm the timer again and "
        "commit) it is clean. "
        "**A job that polls** takes row, then group, as the sender does: no deadlock. His look-up "
        "still lets go of the row without a transaction, and then a message follows EndOfStream. "
        "**The age in the send procedure** deadlocks with nobody alone; beside the nightly job it "
        "needs for idle dialogs it deadlocks again, as both delete by Handle, from opposite ends "
        "of that index. Ours (`aged_out` and usp_RetireIdle) finds the row by its key everywhere. "
        "`two_phase`, what we ship for timers, never asks for a row while it has a group.",
        {
            "as-posted": Search(
                "his code, two senders in transactions, a timer fires",
                _pair("forum_pair"),
                ("deadlock of usp_InitiatorQueueHandler and usp_SendMessage: ",),
                True,
            ),
            "priority-verbatim": Search(
                "his code with SET DEADLOCK_PRIORITY LOW in the activated procedure",
                _pair("forum_low_priority"),
                ("deadlock of usp_InitiatorQueueHandler and usp_SendMessage: the activated",),
                True,
            ),
            "priority-improved": Search(
                "`low_priority`: ours, receives again after a rollback",
                _cell("spid timer low_priority updlock rc transaction", senders=1),
                (ALIKE + "the activated",),
            ),
            "timeout-verbatim": Search(
                "his code with LOCK_TIMEOUT 0 and a CATCH block that rolls back",
                _pair("forum_lock_timeout"),
                ("queue switched off",),
                True,
            ),
            "timeout-improved": Search(
                "`lock_timeout_rearm`, two senders in transactions",
                _cell("spid timer lock_timeout_rearm updlock rc transaction", senders=2),
            ),
            "polling-verbatim": Search(
                "his code without timers, a job that deletes the row, then sends EndOfStream; "
                "in a transaction",
                _polled(in_transaction=True),
                (),
                True,
            ),
            "polling-verbatim-autocommit": Search(
                "the same without a transaction",
                _polled(in_transaction=False),
                ("message after EndOfStream",),
                True,
            ),
            "aged-verbatim": Search(
                "his last version, without the nightly job", _aged(job=False), (), True
            ),
            "aged-verbatim-job": Search(
                "his last version, beside the nightly job",
                _aged(job=True),
                ("deadlock of usp_PurgeConversations and usp_SendMessage: ",),
                True,
            ),
            "aged-improved": Search(
                "`aged_out`: a sender past its age beside usp_RetireIdle, in transactions",
                _cell(
                    "spid aged_out two_phase updlock rc transaction",
                    senders=1,
                    messages=2,
                    firings=0,
                    retire=True,
                ),
            ),
            "two-phase": Search(
                "`two_phase`, what we ship: two senders in transactions, a timer fires",
                _cell("spid timer two_phase updlock rc transaction"),
            ),
        },
        ("spid timer two_phase updlock *", "spid aged_out two_phase updlock *"),
    ),
    "001": Question(
        "seed 001, its warning",
        "Sending locks the dialog until the transaction commits, so reusing a dialog before that "
        "makes the transactions wait for each other.",
        "True of every dialog two transactions share, and only of those. With one dialog for "
        "everybody (the article's, or our `single`), or one key of `application`, a sender waits "
        "for the other's commit; nothing is lost by it and nobody deadlocks. With `spid`, "
        "`message`, or a `pool` with a free slot no sender ever waits for another. So the "
        "article's advice holds: a pool rather than one dialog, and the send as late in the "
        "transaction as may be. What it does not say: found by a query and not by a lock, two "
        "first users begin a dialog each.",
        {
            "shared-verbatim": Search(
                "the article's one dialog, two senders in transactions",
                _theirs("shared_dialog", _shared, sender_waits),
                (WAITS,),
                True,
            ),
            "shared-first-users": Search(
                "the article's one dialog, two first users",
                Made(shared_dialog, mutant="shared_dialog"),
                ("two dialogs",),
                True,
            ),
            "single": Search(
                "key single, two senders in transactions",
                _ours("key=single recycle=never firings=0 caller=transaction", sender_waits),
                (WAITS,),
            ),
            "pool-free-slot": Search(
                "key pool, two slots, two senders in transactions",
                _ours(POOL.format(2), sender_waits),
            ),
            "message": Search(
                "key message, two senders in transactions",
                _ours(
                    "key=message recycle=never warm=0 firings=0 caller=transaction", sender_waits
                ),
            ),
        },
        ("single * two_phase updlock *", "message * two_phase updlock *"),
    ),
    "004-5": Question(
        "seed 004, comment 5 (Tim)",
        "usp_ResendPending takes an old and a new conversation, and the activated procedure has "
        "one handle. Is a block missing that begins a dialog and inserts it into "
        "SessionConversations?",
        "Yes. Written in as its author answers (as usp_Send does), the resent dialog has no row, "
        "so the next send begins another and the old one is recycled by its timer only; and every "
        "resent body is one byte long, as VARBINARY without a length is. Ours resends on a dialog "
        "of its own that belongs to no key: whole bodies in their order, EndOfStream behind the "
        "last, and the old dialog ends after that, all in one transaction. So no row is missing, "
        "and the key's next send begins the key's next dialog. Nothing is lost; a message may be "
        "there twice where its acknowledgement was not seen.",
        {
            "resend-verbatim": Search(
                "the published procedures, two messages pend",
                Made(_resend, mutant="published_resend"),
                ("resent body cut",),
                True,
            ),
            "resend-ours": Search(
                "ours, two messages to send while the lifetime of the dialog ends",
                _cell(
                    "spid timer two_phase updlock rc autocommit",
                    senders=1,
                    messages=2,
                    lifetimes=1,
                    firings=0,
                ),
            ),
            "resend-ours-transaction": Search(
                "the same in a caller's transaction, one message",
                _cell(
                    "application timer two_phase updlock rcsi transaction",
                    senders=1,
                    lifetimes=1,
                    firings=0,
                ),
            ),
        },
        ("spid * two_phase updlock *",),
    ),
}
"""Every question, in the page's order."""


def named(question: str, search: str) -> str:
    """A search's name in results and file names."""
    return f"{question}.{search}"


SEARCHES: dict[str, Search] = {
    named(key, name): search
    for key, question in QUESTIONS.items()
    for name, search in question.searches.items()
}
"""Every search of every question, by name."""

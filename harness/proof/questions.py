"""The questions people have asked since 2007, and the searches that answer them.

Each answer is ours, in words; each search says what it must find for the answer to stand
(``Search.finds``), and the page says so when it finds something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.explore.checks import all_of
from harness.explore.scenario import Client, Scenario
from harness.explore.world import World
from harness.proof.audit import (
    DATABASE,
    TARGET_IN_ONE_GO,
    TIDY,
    deployed,
    end_of_stream_once,
    small_config,
)
from harness.proof.claims import AT_REST, ON_EVERY_STATE, claims
from harness.proof.comparators import forum_aged, forum_pair, send_message, send_shared
from harness.proof.matrix import Cell, Story, Watch, deadlocks, scenario, waits
from harness.proof.setups import Setup
from harness.proof.strategies import queue_on

WAITS = "a sender waits for a sender"
TOGETHER = "two readers of the target hold messages at once"


@dataclass(frozen=True, slots=True)
class Search:
    """One search. title: in words. make: the scenario. finds: beginnings of the names of all it
    must find, none for an empty tuple. verbatim: the text is somebody else's.
    """

    title: str
    make: Callable[[], Scenario]
    finds: tuple[str, ...] = ()
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """who: where it was asked. asked: in short. answer: ours. searches: by name. cells: patterns
    of names of cells of the matrix that say more.
    """

    who: str
    asked: str
    answer: str
    searches: dict[str, Search]
    cells: tuple[str, ...] = ()


# ---------------------------------------------------------------------- what is looked for
def sender_waits(world: World) -> list[str]:
    """A sender waits for another sender's lock: nothing wrong, but the answer to some questions."""
    return [WAITS] if WAITS in waits(world) else []


def together(world: World) -> list[str]:
    """Two readers of the target are between RECEIVE and COMMIT, each with a conversation group."""
    holding = set()
    for (kind, *_), resource in world.instance.engine.locks.resources.items():
        if kind == "CONVERSATION_GROUP":
            holding |= {owner.owner.id for owner in resource.granted if owner.owner is not None
                        and _in_the_target(owner.owner)}
    return [TOGETHER] if len(holding) > 1 else []


def _in_the_target(session) -> bool:
    return any(frame.program.full_name.endswith("usp_TargetActivation")
               for frame in session.frames)


def _ours(text: str, *more) -> Callable[[], Scenario]:
    """A setup of ours with every claim, every deadlock, and more checks of every state."""
    def make() -> Scenario:
        setup = Setup.parse(text)
        subject = setup.subject
        always = {name: claim for name, claim in ON_EVERY_STATE.items() if name != "S1"}
        return replace(setup.scenario(), at_the_end=claims(subject, AT_REST),
                       on_every_state=all_of(claims(subject, always), deadlocks, *more))
    return make


def _cell(text: str, **fields) -> Callable[[], Scenario]:
    """A cell of the matrix in a story of its own. fields: of ``Setup``."""
    return lambda: scenario(Cell.parse(text), Story(
        ", ".join(f"{name} {value}" for name, value in fields.items()), fields))


def _theirs(make: Callable[[], Scenario], *more) -> Callable[[], Scenario]:
    """Somebody else's text with his scenario's checks at rest, and deadlocks with who dies."""
    def made() -> Scenario:
        plain = make()
        return replace(plain, on_every_state=all_of(deadlocks, *more),
                       at_the_end=all_of(plain.at_the_end, end_of_stream_once, queue_on))
    return made


def _article(text: str) -> Callable[[], Scenario]:
    """Seed 000's first edition under the article cell's checks. text: of the caller mode."""
    def make() -> Scenario:
        fields = {"warm": 0, "firings": 0}
        made = scenario(Cell(strategy="article", caller=text), Story("two first sends", fields))
        return replace(made, name=f"article_holdlock, 2 first sends, {text}",
                       prepare=lambda: deployed(small_config(), mutant="article_holdlock"))
    return make


def _article_recycled(text: str) -> Callable[[], Scenario]:
    def make() -> Scenario:
        made = scenario(Cell(strategy="article", caller=text),
                        Story("its timer fires at any moment", {"senders": 1}))
        return replace(made, name=f"article_holdlock, 1 sender, {text}",
                       prepare=lambda: deployed(small_config(), mutant="article_holdlock"))
    return make


def _polling(*, in_transaction: bool) -> Scenario:
    made = forum_aged(in_transaction=in_transaction, job=True)
    return replace(made, name=made.name.replace("forum_aged", "forum_polling"),
                   prepare=lambda: deployed(small_config(), mutant="forum_polling"))


def _shared(*, in_transaction: bool) -> Scenario:
    """Seed 001: two applications, a dialog that is there already."""
    def text(body: str) -> str:
        return f"BEGIN TRANSACTION; {send_shared(body)} COMMIT TRANSACTION;" if in_transaction \
            else send_shared(body)
    clients = tuple(Client(f"sender {n}", (text(f"{n}1"),), DATABASE,
                           (send_shared("A0"),) if n == "A" else (), TIDY) for n in "AB")
    mode = "own transactions" if in_transaction else "autocommit"
    return Scenario(f"shared_dialog, 2 callers in {mode}, RC",
                    lambda: deployed(small_config(), mutant="shared_dialog"), clients,
                    in_one_go=frozenset({"TargetQueue"}), notes=(TARGET_IN_ONE_GO,))


SENT = ("A1A2A3", "B1B2B3")


def _resend() -> Scenario:
    """Seed 004 as published: two messages pend when the dialog's lifetime ends (-8489)."""
    call = Setup(senders=1)._text(0, "{}")  # noqa: SLF001
    warm = tuple(call.format(body) for body in SENT)
    off = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"

    def cut(world: World) -> list[str]:
        broker = world.instance.server.database(DATABASE).broker
        pending = [row[2].hex().upper() for e in broker.endpoints.values()
                   for row in e.pending.values() if row[2]]
        return ["resent body cut"] if pending and not set(pending) <= set(SENT) else []

    return Scenario(
        "published_resend, 2 messages pend, the database is restored",
        lambda: deployed(small_config(), mutant="published_resend", first=(off,)),
        (Client("sender A", ("SELECT 1;",), DATABASE, warm),
         Client("operator", (RESTORED,), DATABASE)),
        at_the_end=cut, firings=0, in_one_go=frozenset({"TargetQueue"}))


RESTORED = "ALTER DATABASE Redial SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE;"

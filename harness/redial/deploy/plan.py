"""What a deployment would change, said before it changes anything."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from redial.config import Config
from redial.config.choices import EnableBroker
from redial.deploy.accepting import NOTHING_ACCEPTED, Accepted, accept
from redial.deploy.actions import LEFT, Action, actions
from redial.deploy.apply import check, looking, naming, use
from redial.deploy.earlier import earlier
from redial.deploy.errors import DeployError
from redial.deploy.fingerprint import Catalog, Thing
from redial.deploy.fingerprint.compare import (
    CHANGED,
    EXCESS,
    EXCHANGED,
    MISSING,
    RENAMED,
    TAKEN,
)
from redial.deploy.fingerprint.model import HIDDEN, ON
from redial.deploy.fingerprint.repair import ALLOWED, by_files, way
from redial.deploy.handwork import LAST, handwork, words_of
from redial.deploy.history import content_of
from redial.deploy.live import NOBODY, Live, live
from redial.deploy.loss import left_over, other_rows, to_lose
from redial.deploy.port import Connect
from redial.deploy.verify import Look, home_of, left, look_over
from redial.deploy.whole import told
from redial.render import render, sides
from redial.server import label_of

UNKNOWN = "a server that tells nothing of itself"
NOT_SEEN = "hidden from this login"
"""Of what cannot be said."""
WAIT_SECONDS = 60
"""How long a drain waits unless told otherwise (29_change, uninstall)."""
NOTHING, ERROR, CHANGES, BLOCKED = 0, 1, 2, 3
"""Exit statuses: nothing to do; (an error); a deployment changes something; it would be refused."""
VERSION = 5
"""Of the form of a plan's file."""
NO_LOSS: Mapping[str, int] = MappingProxyType({})
"""No table may be dropped."""
UNFINISHED = (
    "the last deployment has sent its files and not come to its end: what is around it is not kept. "
    "Next: redial deploy, which does the rest"
)
FOREIGN = 50208
"""Something is there already and was not made by Redial: of a module a plan says more than that."""
_COMMENT = re.compile(r"('[^']*')|/\*.*?\*/|--[^\n]*", re.DOTALL)
"""Or a literal, which may hold what begins a comment."""
_HEAD = re.compile(
    r"\s*CREATE\s+(?:OR\s+ALTER\s+)?PROC(?:EDURE)?\s+\S+"
    r"((?:'[^']*'|[^'])*?)(?:\bWITH\b|\bAS\b)",
    re.DOTALL | re.IGNORECASE,
)
"""A procedure up to its options or its body; names of ours have no blanks."""


@dataclass(frozen=True)
class Plan:
    """What would be done, where, and what was looked at."""

    config: str
    schema: str
    server: str
    login: str
    product: str
    """Version, edition and compatibility level of the server."""
    databases: list[str]
    gate: str
    """open, or closed and by whom."""
    dialogs: dict[str, int]
    """Open conversation endpoints by state: who is at work while a deployment runs."""
    pending: dict[str, int]
    """Messages that were sent and have not arrived, by transmission status."""
    depth: dict[str, int]
    """Messages in each queue."""
    in_the_way: str
    """Sessions with open transactions on our dialogs and queues: a drain waits for them."""
    callers: list[str]
    """Procedures whose parameters change, before and after."""
    drains: list[str]
    """Choices that change: the gate closes and dialogs end before they do."""
    closes: str
    """How long the gate is closed; empty: it stays as it is."""
    cut: list[str]
    """Sessions that switching Service Broker on would wait for, or cut off."""
    loss: list[str]
    """Tables of earlier choices with rows: kept, and what drops them; empty: no row can be lost."""
    drops: list[str]
    """Tables of earlier choices that go, as somebody has allowed."""
    blocked: list[str]
    """What a deployment would be refused for, each with its next step."""
    actions: list[Action]
    before: str
    """Content hash of what was deployed last; empty: nothing."""
    after: str
    """Content hash of the files."""
    fingerprint: str
    """Of everything seen; a plan is only for what it has seen."""
    broker: str
    """service_broker_guid of the database."""
    files: str
    """Digest of the files it was made from."""
    others: list[str]
    """What else is wrong, each with its next step: broker off, a right or a signature missing."""
    notes: list[str]
    """What was seen and not judged."""
    told: list[str]
    """What it was allowed to replace, undo and lose, and which differences stay."""
    version: int = VERSION

    @property
    def status(self) -> int:
        """Exit status."""
        if self.blocked:
            return BLOCKED
        does = self.others or self.drops or any(one.do not in LEFT for one in self.actions)
        return CHANGES if does else NOTHING

    def to_json(self) -> str:
        """As a text, of which ``mark_of`` reads what a plan holds for."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def mark_of(text: str) -> tuple[str, ...]:
    """Configuration, files, fingerprint, broker of a plan's file, and what it was told.

    Raises ValueError for another text.
    """
    try:
        said = json.loads(text)
        if said["version"] != VERSION:
            raise ValueError(f"a plan of form {said['version']}, and this Redial knows {VERSION}")
        mark = (said["config"], said["files"], said["fingerprint"], said["broker"], said["told"])
        return tuple(map(str, mark))
    except (KeyError, TypeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("not a plan that redial plan --out has written") from error


@dataclass(frozen=True)
class Survey:
    """What was seen on a server, and what follows from it."""

    plan: Plan
    looks: list[Look]
    words: dict[str, str]
    """What the files are told: which modules may be replaced."""


def plan(
    config: Config,
    connect: Connect,
    files: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
    undo: bool = False,
    wait_seconds: int | None = None,
) -> Plan:
    """Look, and say what a deployment of ``files`` (None: rendered now) would do.

    overwrite: whether it may replace texts that were changed by hand. undo: whether that goes too which
    somebody has chosen, or added to what is ours. wait_seconds: of a drain. Raises the
    driver's errors.
    """
    with looking(connect, config, wait_seconds) as connection:
        return survey(
            config, connection, files, overwrite=overwrite, undo=undo, wait_seconds=wait_seconds
        ).plan


def survey(
    config: Config,
    connection: Any,
    files: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
    undo: bool = False,
    wait_seconds: int | None = None,
    losses: Mapping[str, int] = NO_LOSS,
    accepted: Accepted = NOTHING_ACCEPTED,
) -> Survey:
    """The same, and what was looked at. Three round trips where nothing differs in one database.

    losses: rows of the tables that may be dropped. accepted: differences that stay.
    """
    rendered = dict(files) if files is not None else render(config)
    looks = accept(look_over(config, connection, rendered), config.name, accepted)
    at_work = _at_work(connection, config, looks)
    home, there = home_of(looks), [(one, at_work[one.database]) for one in looks]
    by_hand = handwork(connection, config, looks, rendered)
    drains = [line for one, now in there for line in [*_choices(one, ON), *_old(one, now)]]
    replaced = by_hand.replaceable if overwrite else frozenset()
    replaced |= {(one.database, name) for one in looks for name in _making_room(one, undo)}
    blocked = [line for one in looks for line in _blocked(one, replaced)]
    blocked += [] if overwrite else by_hand.refusals()
    blocked += [line for one, now in there for line in other_rows(one, now, losses)]
    done = [action for one, now in there for action in actions(one, now, by_hand, overwrite, undo)]
    listed = config.contract.previous
    done += [action for one, now in there for action in earlier(one, now, listed, losses)]
    words = words_of(replaced, looks)
    others = _others(looks)
    if blocked or others or any(one.do not in LEFT for one in done):
        asked = _refused(connection, config, looks, rendered, words)
        blocked += [str(error) for error in asked if error.number != FOREIGN or not blocked]
    made = Plan(
        config=config.name,
        schema=config.schema_name,
        server=label_of(home.version or UNKNOWN),
        login=at_work[home.database].login,
        product=at_work[home.database].product,
        databases=[one.database for one in looks],
        gate=_gate(looks),
        dialogs=_together(now.dialogs for now in at_work.values()),
        pending=_together(now.pending for now in at_work.values()),
        depth=_together(now.depth for now in at_work.values()),
        in_the_way=_in_the_way(at_work),
        callers=[line for one in looks for line in _callers(one)],
        drains=drains,
        closes=_closes(home.seconds, wait_seconds) if drains else "",
        cut=[
            f"{one}, {_CUT[config.database.enable_broker]}"
            for now in at_work.values()
            for one in now.others
        ],
        loss=[line for one, now in there for line in to_lose(one, now, losses)],
        drops=[name for one in looks for name in left_over(one) if name in losses],
        blocked=blocked,
        before=home.found.get(LAST, {}).get("content", ""),
        after=content_of(rendered, config.schema_name),
        actions=done,
        fingerprint=fingerprint([one.found for one in looks]),
        broker=at_work[home.database].broker,
        files=digest(rendered),
        others=others,
        notes=[*_unread(looks), *(line for one in looks for line in one.notes())],
        told=_told(looks, overwrite, undo, losses),
    )
    return Survey(made, looks, words)


def _gate(looks: list[Look]) -> str:
    """open, or closed and by whom; that it cannot be seen."""
    gates = (own for one in looks for thing, own in one.found.items() if thing.kind == "gate")
    states = ", ".join(own["state"] for own in gates)
    return NOT_SEEN if any(one.unseen for one in looks) else states or "open"


def _others(looks: list[Look]) -> list[str]:
    """What is wrong and no difference of the catalog."""
    said = [line for one in looks if not one.unseen and one.installed for line in one.others]
    return [*said, *[UNFINISHED] * home_of(looks).unfinished]


def _unread(looks: list[Look]) -> list[str]:
    """What verification finds and no deployment mends: a person must look first."""
    return [line for one in looks if one.installed for line in left(one)]


def _told(
    looks: Iterable[Look], overwrite: bool, undo: bool, losses: Mapping[str, int]
) -> list[str]:
    """The words a plan was made with; a deployment with others is another one."""
    words = [*["overwrite"] * overwrite, *["undo"] * undo]
    words += [f"{table}={rows}" for table, rows in sorted(losses.items())]
    return words + [f"stays: {each}" for one in looks for each in one.accepted]


def digest(files: Mapping[str, str]) -> str:
    """Of rendered files, the same for the same names and texts."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def fingerprint(catalogs: Sequence[Catalog]) -> str:
    """A digest of everything seen of an installation; the same for the same catalog."""
    said = [
        [[*thing], sorted(own.items())]
        for catalog in catalogs
        for thing, own in sorted(catalog.items())
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _callers(one: Look) -> list[str]:
    """What whoever calls our procedures must know: parameters that change, and names they pass."""
    texts = [
        f"{difference.thing.name}: {_parameters(difference.found)} becomes "
        f"{_parameters(difference.wanted)}"
        for difference in one.differences
        if difference.thing.kind == "module"
        and difference.what == "text"
        and difference.found != HIDDEN
        and _parameters(difference.found) != _parameters(difference.wanted)
    ]
    names = [
        f"{difference.thing.name}: {difference.found} becomes {difference.wanted}; {what}"
        for difference in one.differences
        if difference.thing.kind == "setting" and difference.how == CHANGED
        if (what := _PASSED.get(difference.thing.name))
    ]
    if not one.installed:
        return []
    roles = [
        f"role {difference.thing.name} is new: whoever sends, reads or operates becomes a member of it"
        for difference in one.differences
        if difference.thing.kind == "role" and difference.how == MISSING
    ]
    gone = [
        f"{difference.thing.name} goes, which is of an earlier choice: whoever names it gets an error "
        "(2812, or 208 of a view)"
        for difference in one.differences
        if difference.thing.kind == "module" and difference.how == EXCESS and by_files(difference)
    ]
    return [*texts, *names, *roles, *gone]


_PASSED = {
    "services.initiator": "callers of usp_Send may pass it as @fromService",
    "services.target": "callers of usp_Send may pass it as @toService",
    "contract.name": "callers of usp_Send may pass it as @onContract; the old one is taken as long as "
    "contract.previous lists it",
}
"""Choices that callers know."""


def _choices(one: Look, drains: str) -> list[str]:
    """Choices that change, with a drain (on) or without one."""
    return [
        f"{difference.thing.name}: {difference.found} becomes {difference.wanted}"
        for difference in one.differences
        if difference.thing.kind == "setting"
        and difference.how == CHANGED
        and one.wanted[difference.thing].get("drains") == drains
    ]


def _old(one: Look, at_work: Live) -> list[str]:
    """What else 29_change drains for: versions of the contract that are listed no more, validations."""
    ours = {thing.name for thing in one.wanted if thing.kind == "service"}
    versions = {
        thing.name
        for thing in one.found
        if thing.kind == "contract"
        and thing.of in ours
        and Thing("contract", thing.name) not in one.wanted
        if Thing("mark", "CONTRACT", thing.name) in one.found
    }
    old = [
        f"contract {name} is listed no more, and {at_work.contracts[name]} dialogs are on it. They are "
        "recycled by and by: deploy later, and nothing drains"
        for name in sorted(versions)
        if at_work.contracts.get(name)
    ]
    return old + [
        f"validation of {difference.thing.name}: {difference.found} becomes {difference.wanted}"
        for difference in one.differences
        if difference.thing.kind == "message type" and difference.what == "validation"
    ]


def _closes(took: int | None, wait_seconds: int | None) -> str:
    """How long senders are refused, as far as it can be said before. took: the last deployment, seconds."""
    rest = f"{took} s the last time" if took is not None else "its length was never measured here"
    wait = WAIT_SECONDS if wait_seconds is None else wait_seconds
    return (
        f"while dialogs end, at most {wait} s (--wait-seconds; then nothing is changed), and to the end "
        f"of the deployment ({rest})"
    )


_CUT = {
    EnableBroker.NO_WAIT: "because of which a deployment would be refused (database.enable_broker)",
    EnableBroker.WAIT: "which a deployment would wait for (database.enable_broker)",
    EnableBroker.IMMEDIATE: "which a deployment would cut off (database.enable_broker)",
    EnableBroker.NEVER: "and no file switches Service Broker on (database.enable_broker)",
}


def _parameters(text: str) -> str:
    """A procedure's parameters with types and defaults, in one line; empty for other modules."""
    head = _HEAD.match(_COMMENT.sub(lambda found: found[1] or " ", text))
    return "(" + " ".join(head[1].split()).strip("() ") + ")" if head else ""


def _blocked(one: Look, replaced: frozenset[tuple[str, str]]) -> list[str]:
    """Of what was seen, what ends a deployment before it changes anything.

    replaced: modules that --overwrite replaces, names that --undo frees.
    """
    if one.unseen:
        return list(one.others)
    return [
        told(one, difference)
        for difference in one.differences
        if (
            difference.thing.kind == "module"
            and difference.what == "text"
            and not by_files(difference)
            and (one.database, difference.thing.name) not in replaced
        )
        or (difference.thing.kind == "migration" and difference.how == EXCESS)
        or (difference.how == RENAMED and difference.wanted)
        or difference.how == EXCHANGED
        or (TAKEN in difference.has and (one.database, difference.thing.name) not in replaced)
    ]


def _making_room(one: Look, undo: bool) -> list[str]:
    """Names of ours that a deployment frees: another key of ours has them, or with --undo something else."""
    mixed = [
        each for one_of in one.differences if one_of.others for each in (one_of, *one_of.others)
    ]
    free = [each.thing.name for each in mixed if each.thing.kind == "index"]
    if not undo:
        return free
    going = {str(each.thing) for each in one.differences if way(each) == ALLOWED}
    return free + [each.thing.name for each in one.differences if each.has.get(TAKEN) in going]


def _refused(
    connection: Any,
    config: Config,
    looks: list[Look],
    files: Mapping[str, str],
    words: Mapping[str, str],
) -> list[DeployError]:
    """What the files' own checks say: they only read. One round trip for each database.

    words: of modules that may be replaced.
    """
    said = []
    for one, here in zip(looks, sides(config), strict=True):
        if one.unseen and here.apart:
            continue
        if here.apart:
            use(connection, one.database)
        try:
            with naming(connection, config):
                check(connection, files, here.folder, words)
        except DeployError as error:
            said.append(error)
    if config.target.database is not None:
        use(connection, home_of(looks).database)
    return said


def _at_work(connection: Any, config: Config, looks: list[Look]) -> dict[str, Live]:
    """What is at work in each database. One round trip, and two more where there are two."""
    if config.target.database is None:
        return {one.database: live(connection, config.schema_name) for one in looks}
    found = {}
    for one in looks:
        if one.unseen:
            found[one.database] = NOBODY
            continue
        use(connection, one.database)
        found[one.database] = live(connection, config.schema_name)
    use(connection, home_of(looks).database)
    return found


def _together(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Of all databases."""
    found: Counter[str] = Counter()
    for one in counts:
        found.update(one)
    return dict(found)


def _in_the_way(at_work: Mapping[str, Live]) -> str:
    """Whose open transactions a drain waits for; with its database where there are two."""
    said = {database: now.in_the_way() for database, now in at_work.items()}
    if len(said) == 1:
        return "".join(said.values())
    return "; ".join(f"in {database}: {who}" for database, who in said.items() if who)

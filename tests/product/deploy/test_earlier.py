"""A plan names all that a change of choices makes, alters and drops, and nothing that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial.deploy.actions import EARLIER, LEFT
from redial.deploy.earlier import earlier
from redial.deploy.fingerprint import Catalog, Thing
from redial.deploy.live import NOBODY
from redial.deploy.loss import KINDS
from redial.deploy.verify import look
from tests.product.sql.bare import another
from tests.product.sql.lab import AUDIT, Lab

from .by_hand import Site

CONTRACT = AUDIT.contract.name
CHOICES = {
    "more readers": {"target": {"readers": 3}},
    "no bulk": {"modules": {"bulk": False}},
    "no operate": {"modules": {"operate": False}},
    "neither monitor nor operate": {"modules": {"monitor": False, "operate": False}},
    "no upgrade": {"modules": {"upgrade": False}},
    "no pieces": {"modules": {"pieces": False}},
    "another queue": {"queues": {"target": "TargetQueue2"}},
    "another version of the contract": {
        "contract": {"name": f"{CONTRACT}/2", "previous": [CONTRACT]}
    },
    "other services": {"services": {"initiator": "//redial/a/from", "target": "//redial/a/to"}},
    "exactly once": {"conversation": {"delivery": "exactly_once"}},
    "a key of the application": {"conversation": {"key": "application"}},
    "who is told of a queue that is off": {"operations": {"notify_queue_off": True}},
    "an index in the order sent": {"landing": {"order_index": True}},
    "signatures": {"security": {"signing": "certificate"}},
    "a priority": {"priority": {"level": 7}},
    "another role of senders": {"roles": {"sender": "audit_s2"}},
}
NOT_NAMED = frozenset({"mark", "mark of making", "owned object", "gate"})
"""Kinds that are how a deployment remembers."""


def changed(before: Catalog, after: Catalog) -> tuple[set[Thing], set[Thing]]:
    """What differs, and what of it has come or gone.

    A contract that these files do not name is told by its mark alone.
    """
    moved = before.keys() ^ after.keys()
    moved |= {Thing(KINDS[one.name], one.of) for one in moved if one.name in KINDS}
    differ = {one for one in before.keys() & after.keys() if before[one] != after[one]} | moved
    return {one for one in differ if one.kind not in NOT_NAMED}, moved


def is_part(thing: Thing, moved: set[Thing]) -> bool:
    """Whether it belongs to something that has come or gone."""
    whole = Thing(thing.kind, thing.name)
    return any(map(thing.belongs_to, moved)) or (whole != thing and whole in moved)


def found(site: Site) -> Catalog:
    [one] = look(site.lab.config, site.connect, site.files)
    return one.found


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("what", CHOICES)
def test_a_plan_names_what_a_change_of_choices_does_and_no_more(what):
    lab = Lab()
    lab.instance.disconnect(lab.sa.session)
    site = Site(lab)
    # there, and back again
    for config in (another(AUDIT, **CHOICES[what]), AUDIT):
        lab.config = config
        said = site.survey(overwrite=True).plan
        before = found(site)
        assert site.deploy(overwrite=True)  # files of what was there were not kept
        after = found(site)
        planned = {one.thing for one in said.actions if one.do not in LEFT}
        done, moved = changed(before, after)
        assert {str(each) for each in done if not is_part(each, moved)} <= planned
        assert planned <= {"deployment last", *map(str, done)}
        # callers are told what they will not find
        gone = {one.name for one in before.keys() - after.keys() if one.kind == "module"}
        assert gone == {line.split(" goes, ")[0] for line in said.callers if " goes, " in line}
    assert not [one for one in site.survey().plan.actions if one.why == EARLIER]


OLD = {
    Thing("queue", "OldQueue"): {},
    Thing("mark", "QUEUE", "OldQueue"): {},
    Thing("service", "//old"): {"queue": "OldQueue"},
    Thing("mark", "SERVICE", "//old"): {},
    Thing("contract", "//old/contract"): {},
    Thing("mark", "CONTRACT", "//old/contract"): {},
    Thing("message type", "//old/event"): {},
    Thing("mark", "MESSAGE TYPE", "//old/event"): {},
    Thing("message type", "//old/event", "//old/contract"): {},
}
GO = dict.fromkeys(
    ("queue OldQueue", "service //old", "contract //old/contract", "message type //old/event"),
    "drop",
)
AT_WORK = {
    # what is at work, and what it keeps
    "nothing": ({}, {}),
    "a message": ({"depth": {"OldQueue": 1}}, {"queue OldQueue": "in it: 1 message"}),
    "a dialog of the service": (
        {"services": {"//old": 2}},
        {
            "service //old": "open on it: 2 dialogs",
            "queue OldQueue": "a service that stays is on it",
        },
    ),
    "a dialog on the contract": (
        {"contracts": {"//old/contract": 3}},
        {
            "contract //old/contract": "on it: 3 dialogs",
            "message type //old/event": "a contract that stays has it",
        },
    ),
}


@pytest.mark.parametrize("what", AT_WORK)
def test_what_still_has_messages_or_dialogs_stays_and_the_plan_says_why(what):
    at_work, keeps = AT_WORK[what]
    site = Site(Lab())
    [one] = look(site.lab.config, site.connect, site.files)
    rows = earlier(replace(one, found=one.found | OLD), replace(NOBODY, **at_work), (), ())
    assert {row.thing: row.do for row in rows} == GO | dict.fromkeys(keeps, "leave")
    for row in rows:
        assert keeps.get(row.thing, "is of an earlier choice or version") in row.what

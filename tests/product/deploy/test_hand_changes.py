"""Every property that verification knows: changed by hand, named, and mended as verify says.

No list of properties is kept: what the files of the shipped configurations say of their things, and the
kinds of things a server can hold, are asked for here, and each has a change or a reason.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from redial.deploy.accepting import Accepted, Entry, accept, acceptable
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING
from redial.deploy.fingerprint.keys import MASTER_KEY, needed
from redial.deploy.fingerprint.model import AS_WRITTEN
from redial.deploy.verify import Look, findings, look
from redial.render import sides
from tests.installed import rendered
from tests.product.sql.lab import AUDIT, Lab, configured

from . import changes_of_everything, changes_of_rights, changes_of_tables, changes_of_the_rest
from .by_hand import (
    ALLOWED,
    FILES,
    NOBODY,
    PERSON,
    REFUSED,
    TAKEN,
    UNASKED,
    Site,
    changed,
)
from .test_two_databases import CHANGES as BETWEEN
from .test_verify_signing import CHANGES as SIGNED

found_module = import_module("redial.deploy.fingerprint.found")

EVERYTHING = changes_of_everything.EVERYTHING
OF_EVERYTHING = changes_of_everything.CHANGES
PLACES = (changes_of_tables, changes_of_rights, changes_of_the_rest, changes_of_everything)
CHANGES = {name: change for one in PLACES for name, change in one.CHANGES.items()}


def lab_of(what: str) -> Lab:
    return Lab(EVERYTHING if what in OF_EVERYTHING else AUDIT)


def of(*ways: str) -> list[str]:
    return [name for name, change in CHANGES.items() if change.way in ways]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", of(FILES, UNASKED))
def test_one_deployment_mends_what_takes_nothing_from_anybody(what):
    site, line = changed(lab_of(what), CHANGES[what])
    assert line.startswith("in lab: ") and ". Who may: " in line and ". Next: redial deploy" in line
    assert ("It runs: " in line) == (CHANGES[what].way == UNASKED)
    assert site.deploy()
    assert site.findings() == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", of(ALLOWED))
def test_what_somebody_has_chosen_or_added_goes_with_undo_only(what):
    change = CHANGES[what]
    site, line = changed(lab_of(what), change)
    assert "redial deploy --undo runs this" in line
    # 1. a deployment leaves it, also one that may replace texts
    assert site.deploy(overwrite=True)
    assert any(change.finding in one for one in site.findings())
    # 2. one that may undo it leaves nothing of it
    assert site.deploy(undo=True)
    assert site.findings() == []


@pytest.mark.parametrize("what", of(REFUSED, TAKEN))
def test_what_is_in_the_place_of_ours_is_replaced_by_a_word_only(what):
    change = CHANGES[what]
    site, line = changed(lab_of(what), change)
    of_text = change.way == REFUSED
    assert ("--overwrite" if of_text else "--undo") in line
    assert not site.deploy(overwrite=not of_text, undo=of_text)
    assert any(change.finding in one for one in site.findings())
    assert site.deploy(overwrite=of_text, undo=not of_text)
    assert site.findings() == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", of(PERSON))
def test_what_only_a_person_may_do_is_done_by_the_statement_that_verify_prints(what):
    change = CHANGES[what]
    site, line = changed(lab_of(what), change)
    # 1. no deployment does it, whatever it is allowed
    site.deploy(overwrite=True, undo=True)
    assert [one for one in site.findings() if change.finding in one] == [line]
    # 2. the statement does, as it stands, and a deployment has nothing against it any more
    site.run(line.rsplit(" Next: ", 1)[1])
    assert not any(change.finding in one for one in site.findings())
    assert site.deploy(overwrite=True)
    assert site.findings() == []


@pytest.mark.parametrize(
    "what",
    [
        "a procedure that nobody can read",
        "a view that nobody can read",
        "a view in a procedure's place",
        "a function of another kind",
    ],
)
def test_a_drop_that_makes_room_for_ours_says_that_rights_go_with_it(what):
    _, line = changed(lab_of(what), CHANGES[what])
    assert "Every right on it goes with it: redial deploy gives ours again, write down" in line


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", changes_of_rights.CHANGES)
def test_the_verb_of_a_plan_is_that_of_its_statement(what):
    site, _ = changed(Lab(AUDIT), CHANGES[what])
    done = [
        (one.do, one.sql.split()[0].lower())
        for one in site.survey(undo=True).plan.actions
        if one.kind == "permission" and one.sql
    ]
    assert all(verb == word for verb, word in done), done


def test_a_table_that_is_missing_and_has_another_name_is_named_again_before_anything_is_deployed():
    site, line = changed(Lab(AUDIT), CHANGES["a table that is renamed"])
    [missing] = [one for one in site.findings() if "table DeadLetter is missing" in one]
    assert "a deployment is refused as long as DeadLetter_old is there" in missing
    assert not site.deploy(overwrite=True, undo=True)
    site.run(line.rsplit(" Next: ", 1)[1])
    assert site.findings() == []


@pytest.mark.parametrize("what", of(NOBODY))
def test_what_no_statement_undoes_is_left_and_told(what):
    change = CHANGES[what]
    site, line = changed(lab_of(what), change)
    assert re.search(
        "Next: (a person must|ask who made it|deploy with the version|redial repair)", line
    )
    site.deploy(overwrite=True, undo=True)
    assert [one for one in site.findings() if change.finding in one] == [line]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", CHANGES)
def test_the_line_of_each_change_is_accepted_as_it_stands_or_said_to_be_none_that_can_be(what):
    change = CHANGES[what]
    site, line = changed(lab_of(what), change)
    config = site.lab.config
    looks = look(config, site.connect, site.files)
    entry = Entry("here", " ".join(line.split()), "*", "why not")
    after = accept(looks, config.name, Accepted((entry,)))
    left = [one for one in findings(after) if change.finding in one]
    remarks = [note for one in after for note in one.notes() if note.startswith("here: ")]
    [differs] = [
        each for one in looks for each in one.differences if change.finding in str(each)
    ] or [None]
    if differs is not None and acceptable(differs):
        assert (left, remarks) == ([], [])
    else:
        assert left == [line]
        assert remarks and ("cannot be accepted" in remarks[0] or differs is None), remarks


APART = configured(target={"database": "there", "receive_wait_ms": 0})
STAND_IN = "the embedded broker cannot be changed so"
NOT_TRIED = {
    ("column", CHANGED, "identity"): STAND_IN,
    ("column", CHANGED, "special"): STAND_IN,
    ("index", CHANGED, "partitions"): STAND_IN,
    ("index", CHANGED, "row locks"): STAND_IN,
    ("index", CHANGED, "statistics"): STAND_IN,
    ("module", CHANGED, "ANSI_NULLS"): STAND_IN,
    ("table", CHANGED, "special"): STAND_IN,
    ("type", CHANGED, "kept in"): STAND_IN,
    ("type", CHANGED, "owner"): STAND_IN,
    ("security policy", EXCESS, ""): STAND_IN,
    ("trigger", EXCESS, ""): "a trigger is in the schema of its table (2103)",
    ("certificate", CHANGED, "last day"): "made anew, as one without its private key is",
    ("certificate", EXCESS, ""): "of signing only: test_verify_signing.py",
    ("event notification", CHANGED, "events"): "a queue with a reader has no other event (9718)",
    ("event notification", CHANGED, "other broker"): "made anew, as for another service",
    ("message type", CHANGED, "sent by"): "a contract cannot be altered",
    ("message type", EXCESS, ""): "of contracts, which cannot be altered",
    (
        "signature",
        CHANGED,
        "form",
    ): "a module is signed or counter-signed; test_verify_signing.py has both",
    ("schema", MISSING, ""): "nothing is installed then",
    ("user", CHANGED, "logs in by"): "it owns our services: it cannot be dropped",
    ("user", CHANGED, "of type"): "it owns our services: it cannot be dropped",
    ("user", MISSING, ""): "it owns our services: it cannot be dropped",
    ("database", CHANGED, MASTER_KEY): "its statement wants a password: test_two_databases.py",
    ("database", MISSING, ""): "nothing can be looked at then",
    ("agent job", EXCESS, ""): "asked for by our own names",
    ("mark", EXCESS, ""): "more of them may be there",
    ("owned object", EXCESS, ""): "more of them may be there",
    ("role", EXCESS, ""): "asked for by our own names",
    ("user", EXCESS, ""): "asked for by our own names",
}
"""Kind, how and property of what has no change, and why."""


def asked() -> set[tuple[str, str, str]]:
    """Everything that a difference can be about."""
    every: set[tuple[str, str, str]] = set()
    catalogs = [
        (one.wanted, one.found) for config in (AUDIT, EVERYTHING) for one in look_at(config)
    ]
    catalogs += [(made, made) for here in sides(APART) if (made := needed(APART, here, []))]
    for made, there in catalogs:
        for thing, own in made.items():
            said = {what for what in own if what in there.get(thing, {})}
            every |= {(thing.kind, CHANGED, what) for what in said if not what.endswith(AS_WRITTEN)}
            every.add((thing.kind, MISSING, ""))
    source = inspect.getsource(found_module)
    kinds = re.findall(r'(?:put|Thing)\(\s*"([\w ]+)"', source)
    return every | {(kind, EXCESS, "") for kind in kinds}


def look_at(config) -> list[Look]:
    lab = Lab(config)
    return look(config, Site(lab).connect, rendered(config))


def said_of(finding: str, kinds: set[str]) -> tuple[str, str, str]:
    """Kind, how and property of a finding."""
    named = finding.removeprefix("a ")
    kind = max((one for one in kinds if named.startswith(f"{one} ")), key=len, default="")
    if " is missing" in finding:
        return kind, MISSING, ""
    if " is there" in finding or "was made by Redial" in finding or "half way" in finding:
        return kind, EXCESS, ""
    what = re.search(r": ([\w' ]+?) is\b", finding)
    return kind, CHANGED, what[1] if what else "text"


def test_every_property_has_a_change_or_a_reason():
    every = asked()
    kinds = {kind for kind, _, _ in every}
    findings = [change.finding for change in CHANGES.values()]
    findings += [finding for _, finding, _ in SIGNED.values()]
    findings += [finding for _, _, finding in BETWEEN.values()]
    tried = {said_of(finding, kinds) for finding in findings}
    assert every - tried == NOT_TRIED.keys()

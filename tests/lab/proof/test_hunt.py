"""docs/generated/mutants.md is not stale, and a sample of what it says of generated mutants is so."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import count

import pytest

from redial_lab.proof import mutant_search as hunting_ground
from redial_lab.proof.kept_searches import CODE, SOURCES, Remembered, Search, bare, code
from redial_lab.proof.mutant_search import counts, hunt, prepare
from redial_lab.proof.mutants_command import all_names, remembered_of
from redial_lab.proof.mutants_page import (
    HEAD,
    Reason,
    kept,
    reason_of,
    register,
    stale,
    text,
)
from tests.sampling import full

CASES = ("xact_abort", "wrong calls", "first send")
FOUND = remembered_of(Remembered())
SAMPLE = [each.name for each in FOUND if each.claim and each.case in CASES]


@pytest.fixture(scope="module")
def cases():
    return prepare(CASES)


@pytest.mark.sampled(every=40, last=False)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_generated_mutant_is_found_again(name, cases):
    found = hunt(name, cases)
    assert found.claim, found


def test_a_task_that_switches_a_queue_off_is_nobodys_reader(cases):
    """It waits for a lock like any other, and the queue it is for is none that it reads."""
    assert hunt("usp_SenderActivation.transaction.COMMIT-TRANSACTION.4", cases).claim


def test_the_page_and_the_register_name_the_mutants_there_are_now():
    assert not stale(all_names(), FOUND)


def test_a_survivor_without_an_entry_is_open():
    assert reason_of("usp_X.never.it", register()).verdict == "open"
    known = Reason(("usp_X.*",), "equivalent", "said")
    assert reason_of("usp_X.never.it", [known]) is known


def test_a_mutant_that_was_not_hunted_yet_is_named(tmp_path):
    names = [*(each.name for each in FOUND), "usp_X.never.it"]
    path = tmp_path / "mutants.md"
    path.write_text(text(kept(), FOUND, register(), names), "utf-8")
    assert "### Not hunted yet\n\n- `usp_X.never.it`\n" in path.read_text("utf-8")
    assert kept(path) == kept()
    assert path.read_text("utf-8").startswith(HEAD[:60])
    assert "the page does not say what is remembered: run invoke mutants --write" not in stale(
        names, FOUND, path
    )
    path.write_text(path.read_text("utf-8").replace("usp_X", "usp_Y"), "utf-8")
    assert "the page does not say what is remembered: run invoke mutants --write" in stale(
        names, FOUND, path
    )


def test_a_case_whose_shipped_text_has_no_end_finds_nothing(cases, monkeypatch):
    """Else each mutant of it would be found for the end it does not come to."""
    monkeypatch.setattr(hunting_ground, "DEPTH", 5)
    case = replace(cases["first send"], searched=None)
    with pytest.raises(ValueError, match="as shipped: no end within 5 steps"):
        case.shipped()


def test_a_search_that_fails_for_its_own_reasons_finds_nothing(cases, monkeypatch):
    def fails(*_):
        return lambda: None  # no process can send it to another

    monkeypatch.setattr(hunting_ground, "_mutated", fails)
    name = "usp_ArmTimer.in-list.8426"
    with pytest.raises(ValueError, match="pickle"):
        hunt(name, cases)


def test_what_was_searched_is_not_searched_again(cases, tmp_path):
    name = "usp_ArmTimer.in-list.8426"
    remembered = Remembered(tmp_path / "found.json")
    found = hunt(name, cases, remembered)
    remembered.write([name])
    again = Remembered(tmp_path / "found.json")
    assert again.found == remembered.found and counts(name, cases, again)
    marked = {
        case: Search(each.key, True, "as remembered") for case, each in again.found[name].items()
    }
    again.keep(name, marked)
    assert found.claim and hunt(name, cases, again).claim == "as remembered"
    again.keep(name, {case: Search("other text", True, "as remembered") for case in marked})
    assert not counts(name, cases, again) and hunt(name, cases, again).claim == found.claim


def test_a_case_that_never_comes_to_the_statement_is_not_searched(cases):
    reached = {
        key: case.reaches(
            case.base.made["usp_SendEndOfStream.statement.SEND-ON-CONVERSATION-handle"]
        )
        for key, case in cases.items()
    }
    assert reached == {"xact_abort": False, "wrong calls": False, "first send": True}


def test_a_case_that_tells_the_shipped_text_from_itself_is_refused(cases, monkeypatch):
    case = replace(cases["xact_abort"], searched=None)
    seen = count()
    monkeypatch.setattr(hunting_ground, "outcome", lambda world: f"{next(seen)} {os.getpid()}")
    with pytest.raises(ValueError, match="xact_abort is not the same twice"):
        case.shipped()


def test_comments_and_layout_do_not_make_the_sources_others():
    assert bare('"""Say."""\nx = 1  # one\n') == bare('"""Other."""\n\nx = (1)\n')
    assert bare("x = 1") != bare("x = 2")


def test_types_and_assertions_do_not_make_the_sources_others():
    assert bare("def f(x, y=1):\n    z = x.y\n    return z") == bare(
        "if TYPE_CHECKING:\n    from a import B\n"
        "def f(x: int, y: str = 1) -> int:\n"
        "    assert x\n    z = cast('B', x.y)\n    return z"
    )
    assert bare("class A:\n    x: int = 1") == bare("class A:\n    x: str = 1")
    assert bare("class A:\n    x: int = 1") != bare("class A:\n    x: ClassVar[int] = 1")
    assert bare("class A:\n    x: int = 1") != bare("class A:\n    x = 1")


MODULES = {
    "redial_broker/ssb/delivery.py": "from redial_broker.ssb import closing\n\nWAIT = 4\n\n"
    "def deliver(x):\n    return closing.close(x) + WAIT\n",
    "redial_broker/ssb/closing.py": '"""Ends."""\nimport logging\nLOG = logging.'
    'getLogger("redial_broker.ssb.closing")'
    "\n\ndef close(x):\n    LOG.info(x)\n    return x\n",
    "redial_broker/exec/verbs.py": "import redial_broker.ssb.closing\n"
    "from redial_broker.ssb.delivery import deliver\n\ndef send(x):\n"
    "    return deliver(redial_broker.ssb.closing.LOG)\n",
}


def written(folder, files):
    """The digest of these modules, written below a folder."""
    for name, source in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return code(sorted(folder.rglob("*.py")), folder)


def test_renamed_and_moved_code_is_the_same_code(tmp_path):
    before = written(tmp_path / "before", MODULES)
    renamed = {
        name.replace("ssb/", "broker/").replace("closing", "ending"): source.replace(
            "redial_broker.ssb", "redial_broker.broker"
        ).replace("closing", "ending")
        for name, source in MODULES.items()
    }
    assert written(tmp_path / "renamed", renamed) == before
    moved = {
        **MODULES,
        "redial_broker/ssb/waits.py": '"""How long."""\n\nWAIT = 4\n',
        "redial_broker/ssb/delivery.py": "from redial_broker.ssb.closing import close\n"
        "from redial_broker.ssb.waits import WAIT\n\n"
        "def deliver(x):\n    return close(x) + WAIT\n",
    }
    assert written(tmp_path / "moved", moved) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("redial_broker/ssb/delivery.py", "+ WAIT", "- WAIT"),
        ("redial_broker/ssb/delivery.py", "WAIT = 4", "WAIT = 5"),
        (
            "redial_broker/exec/verbs.py",
            "from redial_broker.ssb.delivery import deliver",
            "from redial_broker.ssb.closing import close as deliver",
        ),
    ],
)
def test_changed_code_is_not(tmp_path, name, old, new):
    changed = {**MODULES, name: MODULES[name].replace(old, new)}
    assert changed != MODULES
    assert written(tmp_path / "a", MODULES) != written(tmp_path / "b", changed)


def test_renaming_a_module_of_the_broker_leaves_every_result_valid(tmp_path):
    """On a copy of our own code: a package and a module of it renamed, wherever they are named.
    With --full all the rest of the code is there too."""
    ours = {
        path.relative_to(SOURCES): path.read_text("utf-8")
        for folder in CODE
        for path in (SOURCES / folder).rglob("*.py")
    }
    if not full():
        ours = {
            name: source
            for name, source in ours.items()
            if "ssb/" in str(name) or "transmission" in source
        }
    before = written(tmp_path / "before", {str(name): source for name, source in ours.items()})
    renamed = {
        str(name).replace("ssb/", "conversing/").replace("transmission.py", "sending.py"): re.sub(
            r"\btransmission\b(?=\.| import|,|$)",
            "sending",
            re.sub(r"redial_broker\.ssb", "redial_broker.conversing", source),
            flags=re.M,
        )
        for name, source in ours.items()
    }
    assert any("import names, sending" in source for source in renamed.values())
    assert written(tmp_path / "renamed", renamed) == before


def test_a_file_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "found.json").write_text("[1]")
    with pytest.raises(ValueError, match="not what `invoke mutants` writes"):
        Remembered(tmp_path / "found.json")

"""``per_key`` in templates: the parts of T-SQL that differ by key."""

from __future__ import annotations

import re
import shutil

import pytest

from redial.config import Config
from redial.config.keys import every_key
from redial.config.variants import merged
from redial.paths import SQL, TEMPLATES
from redial.render import RenderError, render
from redial.render.renderer import new_environment

FILES = sorted(TEMPLATES.glob("key*/*.inc.j2"))
ASKED = re.compile(r"\bper_key\.(\w+)")
MADE = re.compile(r"\{% macro (\w+)\(")
INSIDE = {"take", "remembered"}
"""Macros of one file, for itself."""


def config(key: str) -> Config:
    recycle = "timer" if every_key()[key].has_rows else "never"
    return Config.model_validate(merged({"conversation": {"key": key, "recycle": recycle}}))


def asked() -> set[str]:
    """Parts that any template asks for, those of the keys too."""
    texts = (
        re.sub(r"\{#.*?#\}", "", path.read_text("utf-8"), flags=re.S)
        for path in TEMPLATES.rglob("*.j2")
    )
    return {name for text in texts for name in ASKED.findall(text)}


def made() -> set[str]:
    return {name for path in FILES for name in MADE.findall(path.read_text("utf-8"))} - INSIDE


def explained() -> set[str]:
    """Parts that the head of the base of all explains."""
    head = (TEMPLATES / "key_bases" / "any.inc.j2").read_text("utf-8").split("#}")[0]
    listed = head.split("# sending ", 1)[1]
    lines = [line.lstrip("# ") for line in f"# sending {listed}".splitlines()]
    names = r"(?:[a-z ]+?\s{2,})?((?:\w+)(?:, \w+)*)\s{2,}\S"
    return {
        name for line in lines if (found := re.match(names, line)) for name in found[1].split(", ")
    }


def test_every_part_is_asked_for_and_explained_and_none_else():
    assert made() == asked()
    assert made() - explained() == set(), "explain it in key_bases/any.inc.j2"
    assert explained() - made() == set(), "is no part any more"


@pytest.fixture
def root(tmp_path):
    """Our templates, to change."""
    shutil.copytree(TEMPLATES, tmp_path / "templates")
    shutil.copytree(SQL / "mutants", tmp_path / "mutants")
    return tmp_path


def test_a_part_that_is_nowhere_is_named_with_the_files_that_were_looked_at(root):
    path = root / "templates" / "keys" / "message.inc.j2"
    path.write_text(path.read_text("utf-8").replace("macro acquire()", "macro acquired()"), "utf-8")
    with pytest.raises(
        RenderError,
        match=r"templates/core/72_send/02_usp_Acquire.*sql\.j2:2: per_key has no part 'acquire' in "
        r"keys/message\.inc\.j2, key_bases/any\.inc\.j2",
    ):
        render(config("message"), root)
    assert render(config("spid"), root), "the others have theirs"


def test_a_mistake_in_a_keys_file_is_told_with_its_line(root):
    path = root / "templates" / "keys" / "message.inc.j2"
    path.write_text(path.read_text("utf-8") + "{% if %}\n", "utf-8")
    lines = path.read_text("utf-8").count("\n")
    with pytest.raises(RenderError, match=rf"templates/keys/message\.inc\.j2:{lines}: "):
        render(config("message"), root)


def test_a_base_that_is_gone_is_named(root):
    (root / "templates" / "key_bases" / "with_row.inc.j2").unlink()
    with pytest.raises(RenderError, match=r"key_bases/with_row.*no such base; allowed: any"):
        render(config("spid"), root)


def test_a_part_is_that_of_the_key_before_that_of_its_base():
    per_key = new_environment(config("pool")).globals["per_key"]
    assert per_key.row_counts().startswith("CASE") and per_key.begin_logs() == "@conversationKey"
    assert per_key.value() == "NULL", "of the base of all"


def test_a_mutant_may_change_a_part_of_a_key():
    shipped, bad = render(config("pool")), render(config("pool"), mutant="drain_reads_past")
    assert {name for name in shipped if shipped[name] != bad[name]} >= {
        "78_02_usp_CloseDialogs.procedure.sql"
    }

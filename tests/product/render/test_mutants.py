"""Every known-bad variant still fits the templates, parses, and differs from what we ship."""

import pytest

from redial.config import load
from redial.paths import CONFIGS, SQL
from redial.render import RenderError, comparator_names, find_mutant, mutant_names, render
from redial.tsql import parse_script

AUDIT = load(CONFIGS / "audit.toml")
POOL = load(CONFIGS / "etl.toml")
OURS = render(AUDIT)
FROZEN = {"queue_only"}
"""What we shipped once: it differs as soon as the templates have moved on."""

VARIANTS = [*mutant_names(SQL), *comparator_names(SQL)]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_mutant_renders_parses_and_differs(name):
    config = POOL if name == "slot_waited_for_ever" else AUDIT
    files, ours = render(config, mutant=name), OURS if config is AUDIT else render(config)
    changed = [n for n, text in files.items() if n[:2].isdigit() and ours.get(n) != text]
    assert name in FROZEN or any(".procedure." in n for n in changed)
    for file in changed:
        assert parse_script(files[file]), file


@pytest.mark.parametrize("name", VARIANTS)
def test_a_mutant_says_what_must_be_found(name):
    assert len(find_mutant(SQL, name).fault) > 20


DESIGNS = {"protocol_only", "retained"}
"""Designs of our own that were compared with copies; the others are other people's."""


def changed(name, base):
    """Procedures of a comparator that are not those of its base."""
    return [
        text
        for file, text in render(AUDIT, mutant=name).items()
        if ".procedure." in file and base.get(file) != text
    ]


@pytest.mark.parametrize("name", [n for n in comparator_names(SQL) if n not in DESIGNS])
def test_a_comparator_says_so_in_the_catalog_and_names_its_seed(name):
    theirs = changed(name, OURS)
    stamped = [text for text in theirs if "COMPARISON ONLY: seed 00" in text]
    assert stamped
    assert [t for t in theirs if t not in stamped and "comparison strategy article" not in t] == []


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_a_design_of_our_own_says_so_in_what_it_changes(name):
    theirs = changed(name, render(AUDIT, mutant="queue_only"))
    assert theirs
    assert [text for text in theirs if "COMPARISON ONLY: design " not in text] == []


def test_a_mutant_changes_only_the_objects_it_names():
    files = render(AUDIT, mutant="resend_one_byte")
    changed = {n for n in files if n[:2].isdigit() and files[n] != OURS[n]}
    assert changed == {
        *("70_usp_SendPrivately.procedure.sql", "81_modules.check.sql", "90_deployment.data.sql")
    }


def test_an_unknown_mutant_is_refused_with_the_names_there_are():
    with pytest.raises(RenderError, match=r"no mutant 'nonsense'; allowed: article, "):
        render(AUDIT, mutant="nonsense")


def test_a_mutant_that_no_longer_fits_names_template_and_text(tmp_path):
    area = tmp_path / "templates" / "10_a"
    area.mkdir(parents=True)
    (area / "x.view.sql.j2").write_text("SELECT 1;\nGO\n", encoding="utf-8")
    (tmp_path / "mutants").mkdir()
    (tmp_path / "mutants" / "mutants.toml").write_text(
        '[m]\nfault = "f"\n[[m.replace]]\nobject = "x.view"\nfind = "SELECT 2"\nwith = ""\n',
        encoding="utf-8",
    )
    with pytest.raises(RenderError, match=r"x\.view\.sql\.j2:1: .*0 places that read 'SELECT 2'"):
        render(AUDIT, tmp_path, mutant="m")

"""A template found clean is not looked at again until something about it has changed."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed: pip install '.[lint]'")

from redial.lint import clean, style

TIDY = "SELECT TOP (1) t.a\nFROM dbo.t AS t\nORDER BY t.a;\n"
UNTIDY = TIDY.replace("FROM", "from")


@pytest.fixture
def templates(tmp_path, monkeypatch):
    """A folder of templates of our own, with a part that one of them includes."""
    folder = tmp_path / "templates" / "70_helpers"
    folder.mkdir(parents=True)
    (folder / "10_one.view.sql.j2").write_text(TIDY)
    (folder / "20_two.view.sql.j2").write_text('{% include "70_helpers/part.inc.j2" %}\n')
    (folder / "part.inc.j2").write_text(TIDY)
    monkeypatch.setattr(clean, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setattr(clean, "KEPT", tmp_path / "var" / "lint" / "clean")
    clean._common.cache_clear()
    yield sorted(folder.glob("*.sql.j2"))
    clean._common.cache_clear()


@pytest.fixture
def looked_at(monkeypatch):
    """Names of templates sqlfluff is asked about; a finding for each that is untidy."""
    asked = []

    def look(_, path):
        asked.append(path.name)
        bad = "from" in path.read_text()
        return [style.StyleFinding(path, 2, 1, "CP01", "capitals")] if bad else []

    monkeypatch.setattr(style, "_looked_at", look)
    return asked


def wanted(paths, config="audit"):
    return [(config, path) for path in paths]


def test_the_second_look_is_at_nothing(templates, looked_at):
    assert style.lint_changed(wanted(templates), workers=1) == ([], 2)
    assert style.lint_changed(wanted(templates), workers=1) == ([], 0)
    assert len(looked_at) == 2


def test_a_finding_is_found_every_time(templates, looked_at):
    templates[0].write_text(UNTIDY)
    for looked in (2, 1, 1):
        found, count = style.lint_changed(wanted(templates), workers=1)
        assert [(one.path, one.code) for one in found] == [(templates[0], "CP01")]
        assert count == looked


def test_a_change_of_the_template_is_seen_and_nothing_else_is_looked_at(templates, looked_at):
    style.lint_changed(wanted(templates), workers=1)
    templates[0].write_text(UNTIDY)
    found, count = style.lint_changed(wanted(templates), workers=1)
    assert (len(found), count) == (1, 1)


def test_a_change_of_a_part_is_one_of_the_templates_that_include_it(templates, looked_at):
    style.lint_changed(wanted(templates), workers=1)
    (templates[0].parent / "part.inc.j2").write_text(UNTIDY)
    looked_at.clear()
    style.lint_changed(wanted(templates), workers=1)
    assert looked_at == ["20_two.view.sql.j2"]


def test_a_part_whose_name_is_put_together_may_be_any(templates, looked_at):
    templates[0].write_text('{% include "70_helpers/" ~ name %}\n')
    before = clean.digest("audit", templates[0])
    (templates[0].parent / "part.inc.j2").write_text(UNTIDY)
    assert clean.digest("audit", templates[0]) != before


def test_a_part_of_a_key_may_be_in_any_template_that_asks_for_parts(templates):
    before = clean.digest("audit", templates[0])
    (templates[0].parent / "part.inc.j2").write_text(UNTIDY)
    assert clean.digest("audit", templates[0]) == before, "it does not include it"
    templates[0].write_text("{{ per_key.value() }}\n")
    asks = clean.digest("audit", templates[0])
    (templates[0].parent / "part.inc.j2").write_text(UNTIDY + UNTIDY)
    assert clean.digest("audit", templates[0]) != asks


def test_another_configuration_another_name_and_a_new_template_are_looked_at(templates):
    path = templates[0]
    digests = {clean.digest("audit", path), clean.digest("etl", path)}
    other = path.with_name("11_other.view.sql.j2")
    other.write_text(TIDY)
    clean._common.cache_clear()  # a process looks at the list of templates once
    digests |= {clean.digest("audit", other), clean.digest("audit", path)}
    assert len(digests) == 4


@pytest.mark.parametrize(
    "change", ["a rule", "sqlfluff itself", "its settings"], ids=lambda change: change
)
def test_a_change_of_what_looks_is_one_of_every_template(templates, tmp_path, monkeypatch, change):
    for name in ("package", "sql"):
        (tmp_path / name).mkdir()
    rule, settings = tmp_path / "package" / "rule.py", tmp_path / "sql" / ".sqlfluff"
    rule.write_text("one = 1\n")
    settings.write_text("[sqlfluff]\n")
    monkeypatch.setattr(clean, "PACKAGE", rule.parent)
    monkeypatch.setattr(clean, "SQL", settings.parent)
    before = clean.digest("audit", templates[0])
    if change == "a rule":
        rule.write_text("one = 2\n")
    elif change == "its settings":
        settings.write_text("[sqlfluff]\nexclude_rules = AM04\n")
    else:
        monkeypatch.setattr(clean, "version", lambda _: "0")
    clean._common.cache_clear()
    assert clean.digest("audit", templates[0]) != before


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\x00", b"not a digest\n"])
def test_a_damaged_file_costs_a_look_and_no_more(templates, looked_at, text):
    clean.KEPT.parent.mkdir(parents=True)
    clean.KEPT.write_bytes(text)
    assert style.lint_changed(wanted(templates), workers=1) == ([], 2)
    assert style.lint_changed(wanted(templates), workers=1) == ([], 0)


def test_where_nothing_can_be_kept_everything_is_looked_at_each_time(templates, looked_at):
    clean.KEPT.parent.parent.mkdir()
    clean.KEPT.parent.write_text("a file where the folder should be")
    for _ in range(2):
        assert style.lint_changed(wanted(templates), workers=1) == ([], 2)


def test_what_is_kept_has_a_bound(templates, looked_at, monkeypatch):
    monkeypatch.setattr(clean, "ROOM", 3)
    style.lint_changed(wanted(templates), workers=1)
    style.lint_changed(wanted(templates, "etl"), workers=1)
    assert len(clean.known()) == 3
    assert style.lint_changed(wanted(templates, "etl"), workers=1) == ([], 0)


@pytest.mark.slow
def test_processes_find_what_one_finds(tmp_path, monkeypatch):
    monkeypatch.setattr(clean, "KEPT", tmp_path / "clean")
    small = sorted(style.templates(), key=lambda path: path.stat().st_size)[:2]
    assert style.lint_changed(wanted(small), workers=2) == ([], 2)

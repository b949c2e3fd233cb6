"""Style of what the parts of keys render to: sqlfluff passes over the text of a macro."""

import pytest

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed: pip install '.[lint]'")

from redial.config.keys import every_key
from redial.lint.by_key import Rendered, lines_of_parts, rendered_by_key
from redial.lint.style import lint_changed, lint_rendered
from redial.paths import TEMPLATES


@pytest.fixture(scope="module")
def texts():
    return rendered_by_key()


def test_every_line_of_every_part_is_in_a_text_that_is_looked_at(texts):
    assert [line for line in lines_of_parts() if not any(line in one.text for one in texts)] == []
    assert len(lines_of_parts()) > 200
    assert {one.key for one in texts} == every_key().keys()


def test_what_is_looked_at_is_clean(texts):
    """`invoke lint` looks at all of them, some seconds."""
    shortest = min(texts, key=lambda one: len(one.text))
    assert lint_rendered(shortest) == []


def test_a_part_in_another_style_is_found_at_its_key(tmp_path, monkeypatch):
    monkeypatch.setattr("redial.lint.clean.KEPT", tmp_path / "clean")
    text = "DECLARE @a [dbo].[Type], @b INT;\nselect @a;\n"
    found, looked_at = lint_changed([Rendered("pool", "72_x.sql", text)], workers=1)
    assert [(one.line, one.code) for one in found] == [(1, "CP05"), (2, "CP01")]
    assert {one.path for one in found} == {TEMPLATES / "keys" / "pool.inc.j2"}
    assert "of 72_x.sql as this key renders it" in found[0].text and looked_at == 1


def test_a_text_found_clean_is_not_looked_at_again(tmp_path, monkeypatch):
    monkeypatch.setattr("redial.lint.clean.KEPT", tmp_path / "clean")
    one = Rendered("pool", "72_x.sql", "SELECT 1 AS One;\n")
    assert lint_changed([one], workers=1) == ([], 1)
    assert lint_changed([one], workers=1) == ([], 0)

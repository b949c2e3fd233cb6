"""Each field of a class is described by a string below it, not in the text of the class.

What a class without fields says of its arguments stands in its text, as a function's does.
"""

from __future__ import annotations

import re

import pytest

from redial.paths import SOURCES

CLASS = re.compile(
    r'^( *)class (\w+)\b[^\n]*:\n\1    """(.*?)"""\n((?:\1    [^\n]*\n|\n)*)', re.M | re.S
)


def described(source: str) -> list[str]:
    """'Class: field' where a class's own text begins a sentence with ``field:``."""
    found = []
    for indent, name, text, body in CLASS.findall(source):
        fields = set(re.findall(rf"^{indent}    (\w+): ", body, re.M))
        told = re.findall(r"(?:^|[.;]\s+|\n\s*)(\w+)(?:, \w+)*: ", text)
        found += [f"{name}: {field}" for field in told if field in fields]
    return found


def test_no_class_describes_its_fields_in_one_text():
    found = {
        path.relative_to(SOURCES).as_posix(): names
        for path in SOURCES.rglob("*.py")
        if (names := described(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Two.\n\n    left, right: the sides. op: what joins them.", ["Two: left", "Two: op"]),
        ("op: what joins them.", ["Two: op"]),
        ("Two; op: what joins them.", ["Two: op"]),
        ("Two sides and an op: a pair.", []),
        ("Two sides. Note: in order.", []),
    ],
)
def test_a_text_that_describes_fields_is_found(text, said):
    made = f'class Two:\n    """{text}"""\n\n    left: str\n    op: str\n\n\nright: str\n'
    assert described(made) == said

"""Nothing of a config breaks out of its brackets or quotes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from redial.render.quoting import literal, message_text, quote_name

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=128)
HOSTILE = st.text(st.sampled_from("]['\"-*/;% a\u0416"), min_size=1, max_size=128)

LINES = st.text(st.sampled_from("\\\\\r\n'a"), max_size=12)


def unquote_name(text: str) -> tuple[str, str]:
    """Read one bracketed name the way a lexer does: the name and what follows it."""
    assert text[0] == "["
    name, at = "", 1
    while True:
        end = text.index("]", at)
        name += text[at:end]
        if text[end + 1 : end + 2] != "]":
            return name, text[end + 1 :]
        name += "]"
        at = end + 2


def unquote_literal(text: str) -> tuple[str, str]:
    """Read one N'...' literal: its value, without lines that go on, and what follows it."""
    assert text[:2] == "N'"
    value, at = "", 2
    while True:
        end = text.index("'", at)
        value += text[at:end]
        if text[end + 1 : end + 2] != "'":
            return re.sub(r"\\\r?\n", "", value), text[end + 1 :]
        value += "'"
        at = end + 2


@given(NAMES | HOSTILE)
def test_a_bracketed_name_reads_back_as_itself_and_ends_where_it_should(name):
    assert unquote_name(quote_name(name) + ".[x]") == (name, ".[x]")


@given(NAMES | HOSTILE | LINES)
def test_a_literal_reads_back_as_itself_and_ends_where_it_should(text):
    assert unquote_literal(literal(text) + " + N'x'") == (text, " + N'x'")


@given(NAMES | HOSTILE)
def test_quoting_nests(name):
    """A name inside a statement inside a literal, as in sp_executesql N'CREATE SCHEMA [..]'."""
    inner, rest = unquote_literal(literal(f"CREATE SCHEMA {quote_name(name)};"))
    assert rest == ""
    assert unquote_name(inner.removeprefix("CREATE SCHEMA ")) == (name, ";")


def test_percent_signs_of_a_message_are_doubled():
    assert message_text("100% [a]") == "100%% [a]"

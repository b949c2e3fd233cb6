"""LIKE against a reference matcher."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, nvarchar, varchar
from redial_broker.exec.expressions import like

from ..evaluate import holds


def reference(pattern, text):
    """LIKE by recursion over the pattern, straight from its definition."""
    if not pattern:
        return not text
    head = pattern[0]
    if head == "%":
        return any(reference(pattern[1:], text[at:]) for at in range(len(text) + 1))
    if head == "[":
        end = pattern.find("]", 1)
        if end < 0:
            return False
        inside, rest = pattern[1:end], pattern[end + 1 :]
        if inside == "":
            return False
        negated = inside[0] == "^"
        chars = inside[1:] if negated else inside
        return bool(text) and ((text[0] in chars) is not negated) and reference(rest, text[1:])
    if not text:
        return False
    return (head == "_" or head == text[0]) and reference(pattern[1:], text[1:])


PIECES = st.sampled_from(["%", "_", "a", "b", "[ab]", "[^a]", "[b]"])


@given(st.lists(PIECES, max_size=6).map("".join), st.text("abc", max_size=7))
def test_like_agrees_with_its_definition(pattern, text):
    given_ = {"@t": (nvarchar(20), text), "@p": (nvarchar(50), pattern)}
    expected = reference(pattern, text)
    assert holds("@t like @p", given_) is expected
    assert holds(f"@t like N'{pattern}'", given_) is expected
    assert holds("@t not like @p", given_) is not expected


def position(pattern, text):
    """PATINDEX from the definition of LIKE: the first place where what is behind the % can begin.

    A % at the end lets anything follow, as in LIKE.
    """
    if not pattern.startswith("%"):
        return int(reference(pattern, text))
    behind = pattern[1:]
    places = [at for at in range(len(text) + 1) if reference(behind, text[at:])]
    return places[0] + 1 if places else 0


@given(st.lists(PIECES, max_size=6).map("".join), st.text("abc", max_size=7))
def test_patindex_agrees_with_its_definition(pattern, text):
    given_ = {"@t": (nvarchar(20), text), "@p": (nvarchar(50), pattern)}
    assert holds(f"patindex(@p, @t) = {position(pattern, text)}", given_) is True


@given(st.lists(PIECES, max_size=6).map("".join), st.text("abc", max_size=7))
def test_piece_by_piece_it_is_the_same(pattern, text):
    # As very long texts are searched, in windows of one character.
    with patch.object(like, "EVERY", 0), patch.object(like, "_STEPS", 0):
        place = like.like_pattern(pattern, None, True).place(None, text)
    if pattern.startswith("%"):
        assert place + 1 == position(pattern, text)
    else:
        assert (place >= 0) is reference(pattern, text)


@pytest.mark.parametrize("text", ["a" * 4000, "ab" * 2000, "a" * 3999 + "b"])
@pytest.mark.parametrize("piece", ["%a", "%_", "%[ab]a", "_%a", "%a%"])
def test_many_percents_end_at_once(piece, text):
    # Of a matcher that goes back for each of them this would be the last test ever run.
    given_ = {"@t": (nvarchar(4000), text), "@p": (nvarchar(4000), piece * 500 + "%c")}
    assert holds("@t like @p", given_) is False
    assert holds("patindex(@p + '%', @t) = 0", given_) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'Abc' like 'aB%'", True),
        ("'50%' like '50[%]'", True),
        ("'a_c' like 'a!_c' escape '!'", True),
        ("'abc' like 'a!_c' escape '!'", False),
        ("'x-y' like 'x[a-]y'", True),
        ("'m' like '[a-p]'", True),
        ("'z' like '[a-p]'", False),
        ("']' like '[]]'", True),
        ("'a' like '[a'", False),
        ("'a.c' like 'a.c'", True),
        ("'abc' like 'a.c'", False),
        ("'a\nb' like 'a%b'", True),
        ("null like 'a'", None),
        ("'a' like null", None),
        ("'abc ' like 'abc'", True),
        ("N'abc ' like N'abc'", False),
        ("'abc' like 'abc '", False),
        ("'ab' like 'A_' collate Latin1_General_BIN", False),
        ("12 like '1%'", True),
    ],
)
def test_like_in_detail(text, expected):
    assert holds(text) is expected


def test_an_escape_of_two_characters_is_506():
    with pytest.raises(SqlError) as caught:
        holds("'a' like 'a' escape 'xx'")
    assert caught.value.number == 506


def test_like_on_a_varchar_variable_ignores_its_blanks_at_the_end():
    assert holds("@s like 'a_'", {"@s": (varchar(9), "ab  ")}) is True


def test_like_on_a_number_variable_sees_its_digits():
    assert holds("@i like '%7'", {"@i": (INT, 137)}) is True

"""Keys by which values are equal and ordered."""

import pytest

from redial_broker.engine.collation import (
    DEFAULT,
    DEFAULT_COLLATION,
    binary_collation_key,
    binary_key,
    case_sensitive_key,
    collation_key,
    find_collation,
    guid_key,
    guid_of,
)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("abc", "ABC"),
        ("abc", "abc   "),
        ("", "  "),
        ("É", "é"),
        ("straße", "STRASSE"),
    ],
)
def test_equal_under_the_default_collation(one, two):
    assert collation_key(one) == collation_key(two)


@pytest.mark.parametrize(("one", "two"), [("e", "é"), (" a", "a"), ("a", "a\u00a0"), ("a-b", "ab")])
def test_different_under_the_default_collation(one, two):
    assert collation_key(one) != collation_key(two)


def test_order_is_punctuation_digits_letters_with_accents_beside_their_letter():
    ordered = ["", "[a", "_a", "1", "9", "a", "a1", "e", "é", "ea", "f", "z"]
    assert sorted(ordered, key=collation_key) == ordered


def test_a_long_text_has_the_key_of_its_kind_too():
    assert collation_key("X" * 1000) == collation_key("x" * 1000 + " ")


def test_the_other_families():
    assert case_sensitive_key("a") != case_sensitive_key("A")
    assert case_sensitive_key("a ") == case_sensitive_key("a")
    assert binary_collation_key("B") < binary_collation_key("a")
    assert binary_key(b"\x00\x01\x00") == b"\x00\x01"


@pytest.mark.parametrize(
    ("name", "sensitive", "binary"),
    [
        ("Latin1_General_BIN2", True, True),
        ("SQL_Latin1_General_CP1_CS_AS", True, False),
        ("Latin1_General_100_CI_AS", False, False),
        ("database_default", False, False),
    ],
)
def test_collations_are_found_by_name(name, sensitive, binary):
    found = find_collation(name)
    assert (found.case_sensitive, found.binary) == (sensitive, binary)


@pytest.mark.parametrize("name", ["Turkish_CI_AS", "Latin1_General", ""])
def test_what_cannot_be_imitated_is_not_found(name):
    assert find_collation(name) is None


def test_the_default_is_found_in_any_case():
    assert find_collation(DEFAULT_COLLATION.lower()) is DEFAULT


@pytest.mark.parametrize(
    "guid", ["00000000-0000-0000-0000-000000000001", "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"]
)
def test_the_key_of_a_uniqueidentifier_says_which_it_was(guid):
    assert guid_of(guid_key(guid)) == guid

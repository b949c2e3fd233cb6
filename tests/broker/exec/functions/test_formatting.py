"""printf formats of RAISERROR and FORMATMESSAGE."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.exec.functions.formatting import format_message


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        ("plain", (), "plain"),
        ("100%%", (), "100%"),
        ("%d|%i", (1, -2), "1|-2"),
        ("%5d|%-5d|%05d", (42, 42, 42), "   42|42   |00042"),
        ("%+d", (3,), "+3"),
        ("%x %X %#x %o", (255, 255, 255, 8), "ff FF 0xff 10"),
        ("%u", (-1,), "4294967295"),
        ("%s", ("a",), "a"),
        ("%10s|%-4s|%.2s", ("abc", "d", "xyz"), "       abc|d   |xy"),
        ("%*d", (6, 7), "     7"),
        ("%s %d", ("a",), "a (null)"),
        ("%s", (None,), "(null)"),
        ("%I64d", (2**40,), "1099511627776"),
        ("%ld", (5,), "5"),
    ],
)
def test_formats(template, arguments, text):
    assert format_message(template, arguments) == text


def test_a_long_message_ends_in_dots():
    text = format_message("%s", ("x" * 3000,))
    assert len(text) == 2047
    assert text.endswith("x...")


@pytest.mark.parametrize(
    ("template", "arguments", "number"),
    [
        ("%q", (1,), 2787),
        ("50%", (), 2787),
        ("%d", ("text",), 2786),
    ],
)
def test_bad_formats_and_arguments(template, arguments, number):
    with pytest.raises(SqlError) as caught:
        format_message(template, arguments)
    assert caught.value.number == number

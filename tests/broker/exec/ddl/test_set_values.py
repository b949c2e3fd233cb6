"""SET statements whose value no server knows (pages of SET LANGUAGE, DATEFORMAT, DATEFIRST)."""

import pytest


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SET LANGUAGE nonsense", 2740),
        ("SET LANGUAGE N'klingon'", 2740),
        ("SET DATEFORMAT xyz", 2741),
        ("SET DATEFIRST 8", 2742),
        ("SET DATEFIRST 0", 2742),
        ("SET LANGUAGE Deutsch", 60001),
        ("SET DATEFORMAT dmy", 60001),
        ("SET LANGUAGE English", None),
        ("SET DATEFORMAT ymd", None),
    ],
)
def test_unknown_values_have_the_servers_number_known_ones_are_honoured_or_refused(
    error, text, number
):
    assert error(text) == number

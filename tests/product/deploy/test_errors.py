"""What a driver says is reduced to what the server said."""

import pytest

from redial.deploy.errors import server_message

TAGS = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("42000", f"[42000] {TAGS}Incorrect syntax near 'x'. (102) (SQLExecDirectW)"),
            (102, "Incorrect syntax near 'x'."),
        ),
        (
            ("42000", f"[42000] {TAGS}first (8426) (SQLExecDirectW); [42000] {TAGS}2nd (1) (SQLX)"),
            (8426, "first"),
        ),
        (
            ("42S02", f"[42S02] {TAGS}[audit].[x] is missing. (50000) (SQLExecDirectW)"),
            (50000, "[audit].[x] is missing."),
        ),
        (("08001", "[08001] [FreeTDS]Unable to connect"), (None, "Unable to connect")),
        ((), (None, "")),
    ],
)
def test_number_and_text_are_found(arguments, expected):
    assert server_message(RuntimeError(*arguments)) == expected

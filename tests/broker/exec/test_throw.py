"""THROW: what the caller is told."""

import pytest

from .lab import Lab


@pytest.mark.parametrize(("text", "told"), [("100%% done", "100% done"), ("plain", "plain")])
def test_a_percent_sign_written_twice_is_told_once(text, told):
    """throw-transact-sql; F-133."""
    assert [m.text for m in Lab().send(f"THROW 50001, N'{text}', 1;").errors] == [told]

"""The generator of mutants: what it changes, what it calls it, and that nothing else changes."""

from __future__ import annotations

import pytest

from redial.tsql import parse_batch
from redial_lab.proof.mutant_search import generated
from redial_lab.proof.mutate import mutations
from redial_lab.proof.setups import Setup

TEXT = """CREATE OR ALTER PROCEDURE dbo.usp_Take @h uniqueidentifier AS
BEGIN
    DECLARE @body varbinary(max);
    BEGIN TRANSACTION;
    SELECT @body = t.Body FROM dbo.T AS t WITH (UPDLOCK, ROWLOCK) WHERE t.Id = 1 AND t.Handle = @h;
    IF @@ROWCOUNT = 1
        END CONVERSATION @h;
    COMMIT TRANSACTION;
END;"""


def changed(name: str) -> str:
    """The text of that mutant, in one line."""
    [found] = [each for each in mutations(TEXT) if each.name == f"usp_Take.{name}"]
    return " ".join(found.text.split())


def test_a_hint_is_dropped_or_swapped():
    assert "WITH (ROWLOCK)" in changed("hint.UPDLOCK-T")
    assert "WITH (UPDLOCK)" in changed("hint.ROWLOCK-T")
    assert "WITH (HOLDLOCK, ROWLOCK)" in changed("hint.HOLDLOCK-for-UPDLOCK-T")


def test_a_guard_is_always_or_never_passed():
    assert "IF 1 = 1 END CONVERSATION" in changed("always.ROWCOUNT-is-1")
    assert "IF 1 = 0 END CONVERSATION" in changed("never.ROWCOUNT-is-1")


def test_a_conjunct_a_commit_and_a_length_are_taken_away():
    assert "WHERE 1 = 1 AND t.Handle = @h" in changed("conjunct.t-Id-is-1")
    assert "COMMIT" not in changed("transaction.COMMIT-TRANSACTION")
    assert "varbinary(1)" in changed("short.body")


def test_neighbours_change_places_and_a_dialog_is_removed_without_telling():
    assert changed("swap.TRANSACTION-SELECT-body").index("SELECT") < changed(
        "swap.TRANSACTION-SELECT-body"
    ).index("BEGIN TRANSACTION")
    assert "END CONVERSATION @h WITH CLEANUP" in changed("cleanup.CONVERSATION-h")


@pytest.mark.parametrize("text", ["key=spid", "key=application"])
def test_every_mutant_of_the_shipped_procedures_can_be_read_and_has_a_name_of_its_own(text):
    made = generated(Setup.parse(text).config)
    assert len({each.text for each in made.values()}) == len(made) > 300
    for each in made.values():
        parse_batch(each.text)


def test_a_mutant_of_another_choices_text_only_says_so_in_its_name():
    plain, pool = (generated(Setup.parse(f"key={key}").config) for key in ("spid", "pool"))
    assert not any("@" in name for name in plain)
    only = [name for name in pool if "@" in name]
    assert any(name.startswith("usp_WaitForSlot@pool.") for name in only)
    assert not {name.replace("@pool", "") for name in only} & plain.keys()
    assert "usp_SendEndOfStream.statement.SEND-ON-CONVERSATION-handle" in pool

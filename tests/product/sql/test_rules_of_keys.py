"""Rules of test_rules that hold with every key and every rule of recycling, read off the text."""

import re
from functools import cache

import pytest

from tests.choices import PAIRS, TRAITS, WITH_ROWS, WITHOUT_ROWS
from tests.installed import rendered

from .lab import configured
from .test_rules import ON_R, code, seeks_one_index

ROWS = [pair for pair in PAIRS if pair[0] in WITH_ROWS]
NO_ROWS = [pair for pair in PAIRS if pair[0] in WITHOUT_ROWS]
SENDING = (
    "usp_Send",
    "usp_AcquireConversation",
    "usp_BeginConversation",
    "usp_WaitForSlot",
    "usp_RecycleConversation",
    "usp_SendEndOfStream",
    "usp_CloseEverlasting",
)


@cache
def procedures(key: str, recycle: str) -> dict[str, str]:
    """Name -> text without comments and literals, of what sends and recycles."""
    files = rendered(configured(conversation={"key": key, "recycle": recycle}))
    found = {
        re.sub(r"^\d\d_(\d\d_)?|\.procedure\.sql$", "", name): code(text)
        for name, text in files.items()
        if name.endswith(".procedure.sql")
    }
    return {name: text for name, text in found.items() if name in SENDING}


@pytest.mark.parametrize(("key", "recycle"), ROWS)
def test_every_access_to_a_row_seeks_the_clustered_key_and_every_write_checks_the_handle(
    key, recycle
):
    for name, text in procedures(key, recycle).items():
        for statement in (m.group() for m in ON_R.finditer(text)):
            if statement.startswith("INSERT"):
                continue
            assert seeks_one_index(statement), (name, statement)
            if not re.search(r"WHERE sc\.Handle = @handle;", statement):
                assert "sc.ConfigId = 1" in statement, (name, statement)
            if statement.startswith(("UPDATE", "DELETE")):
                assert "sc.ConversationKey = @" in statement, (name, statement)
                assert "sc.Handle = @" in statement, (name, statement)


@pytest.mark.parametrize(("key", "recycle"), NO_ROWS)
def test_without_rows_no_sender_touches_the_table_and_the_gate_is_kept(key, recycle):
    found = procedures(key, recycle)
    assert not any("SessionConversations" in text for text in found.values())
    acquire = found["usp_AcquireConversation"]
    assert "REPEATABLEREAD, ROWLOCK, FORCESEEK" in acquire
    assert acquire.index("[Gate]") < acquire.index("usp_BeginConversation")


@pytest.mark.parametrize(("key", "recycle"), ROWS)
def test_the_row_is_locked_before_the_gate_is_read_and_the_gate_before_a_dialog_is_begun(
    key, recycle
):
    """F-148: a sender that saw the gate open is met by the drain at its row."""
    acquire = procedures(key, recycle)["usp_AcquireConversation"]
    assert acquire.index("UPDLOCK") < acquire.index("[Gate]") < acquire.index("usp_BeginConvers")


@pytest.mark.parametrize(("key", "recycle"), [*ROWS, *NO_ROWS])
def test_no_conversation_has_a_timer_unless_a_timer_recycles_it(key, recycle):
    """Seed 002's author: "I removed the conversation timer". One that takes the place of a dialog
    that is gone has one, which recycles nothing (F-463).
    """
    begins = procedures(key, recycle)["usp_BeginConversation"]
    assert begins.count("CONVERSATION TIMER") == (not TRAITS[key].per_message)
    if recycle != "timer" and not TRAITS[key].per_message:
        assert re.search(r"IF @vanished = 1\s+BEGIN CONVERSATION TIMER", begins)


@pytest.mark.sampled(every=5, meets=("key", "recycle"))
@pytest.mark.parametrize("previous", [[], ["//redial/contract/earlier"]])
@pytest.mark.parametrize(("key", "recycle"), [*ROWS, *NO_ROWS])
def test_no_procedure_is_longer_than_250_lines(key, recycle, previous):
    choices = {"key": key, "recycle": recycle, "delivery": "exactly_once"}
    if TRAITS[key].row_of_one_key:
        choices["order"] = "key"
    config = configured(conversation=choices, contract={"previous": previous})
    for name, text in rendered(config).items():
        if name.endswith(".procedure.sql"):
            assert text.count("\n") <= 250, name

"""Each key does what its file of cases says, and its traits say the same."""

import pytest

from tests.choices import TRAITS
from tests.key_cases import CASES

from .stage import Stage, keys

BEGUN = "SELECT COUNT(*) FROM audit.ConversationLog;"


def test_each_key_has_a_file_of_cases_and_each_file_a_key():
    assert CASES.keys() == TRAITS.keys()


@keys
@pytest.mark.parametrize(("names", "field"), [(("k1", "k1"), "same"), (("k1", "k2"), "apart")])
def test_two_callers_begin_as_many_dialogs_as_they_share_none_of(key, names, field):
    """1 A sends twice. 2 B sends once: of their messages each is on a dialog of its key."""
    stage = Stage(key)
    first, second = stage.caller(), stage.caller()
    first.does(stage.send("01", names[0]) + stage.send("02", names[0]))
    second.does(stage.send("03", names[1]))
    assert stage.dba.rows(BEGUN) == [(getattr(CASES[key], field),)]
    assert sorted(stage.landed()) == ["01", "02", "03"]
    stage.is_clean()


@keys
def test_the_row_of_a_caller_has_the_key_its_case_says(key):
    stage = Stage(key)
    caller = stage.caller()
    caller.does(stage.send("01", "k1"))
    rows = stage.dba.rows(
        "SELECT sc.ConversationKey FROM audit.SessionConversations AS sc "
        "INNER JOIN sys.conversation_endpoints AS ce ON ce.conversation_handle = sc.Handle;"
    )
    said = CASES[key].stored
    wanted = f"DECLARE @key nvarchar(200) = N'k1'; SELECT CONVERT(nvarchar(200), {said});"
    assert rows == (caller.rows(wanted) if said else [])
    assert bool(said) == TRAITS[key].has_rows


@keys
def test_whoever_shares_a_dialog_waits_for_what_its_case_says(key):
    """1 A has sent and stays open. 2 B sends, naming the same key: waits, or does not. 3 A commits."""
    stage = Stage(key)
    first, second = stage.caller(), stage.caller()
    second.does(stage.send("01", "k1"))
    first.does("BEGIN TRANSACTION;" + stage.send("02", "k1"))
    if CASES[key].waits:
        second.blocks(stage.send("03", "k1"))
        assert second.waits_for() == CASES[key].waits
    else:
        second.does(stage.send("03", "k1"))
    first.does("COMMIT;")
    second.has_ended()
    assert sorted(stage.landed()) == ["01", "02", "03"]
    stage.is_clean()


@keys
def test_the_traits_of_a_key_are_what_its_case_shows(key):
    """``shared``: the searches and half of the tests take its word for it."""
    traits, case = TRAITS[key], CASES[key]
    assert traits.shared == (bool(case.waits) or traits.slots)
    assert traits.named == (case.same != case.apart)
    assert traits.per_message == (case.same == 3)
    assert traits.everlasting == (case.waits == "CONVERSATION_GROUP")

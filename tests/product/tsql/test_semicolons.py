"""SEND, RECEIVE, GET, MOVE and THROW are not reserved: where they may begin a statement.

Source: remarks of the SEND, RECEIVE, GET CONVERSATION GROUP, MOVE CONVERSATION and THROW pages: the
statement before must end with ``;``.
"""

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch

SOFT = {
    "Send": "SEND ON CONVERSATION @h",
    "Receive": "RECEIVE * FROM q",
    "GetConversationGroup": "GET CONVERSATION GROUP @g FROM q",
    "MoveConversation": "MOVE CONVERSATION @h TO @g",
    "Throw": "THROW",
    "EnableTrigger": "DISABLE TRIGGER t ON x",
}
PLACES = [
    "{0}",
    ";{0}",
    "SET @a = 1; {0}",
    "SET @a = 1 ;{0}",
    "IF 1 = 1 {0}",
    "IF 1 = 1 SET @a = 1; ELSE {0}",
    "IF 1 = 1 SET @a = 1 ELSE {0}",
    "WHILE 1 = 1 {0}",
    "BEGIN {0} END",
    "BEGIN SET @a = 1; {0}; END",
    "BEGIN TRY {0} END TRY BEGIN CATCH PRINT 1 END CATCH",
    "BEGIN TRY PRINT 1 END TRY BEGIN CATCH {0} END CATCH",
    "BEGIN PRINT 1 END; {0}",
    "IF 1 = 1 SET @a = 1; {0}",
    "again: {0}",
    "CREATE PROCEDURE p AS {0}",
    "CREATE PROCEDURE p AS BEGIN {0} END",
    "CREATE TRIGGER t ON x FOR INSERT AS {0}",
]
NOT_PLACES = [
    "SET @a = 1 {0}",
    "SET @a = 1\n{0}",
    "COMMIT {0}",
    "BEGIN PRINT 1 END {0}",
    "IF 1 = 1 SET @a = 1 {0}",
    "BEGIN SET @a = 1 {0} END",
    "CREATE PROCEDURE p AS SET @a = 1 {0}",
    "CREATE PROCEDURE p AS BEGIN PRINT 1 END {0}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SOFT)
def test_a_word_that_is_not_reserved_begins_a_statement_here(place, kind):
    batch = parse_batch(place.format(SOFT[kind]))
    assert kind in {type(node).__name__ for node in batch.walk()}


@pytest.mark.parametrize("place", NOT_PLACES)
@pytest.mark.parametrize("kind", SOFT)
def test_a_word_that_is_not_reserved_is_error_102_without_a_semicolon(place, kind):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch(place.format(SOFT[kind]))
    assert caught.value.number == 102
    assert caught.value.message == f"Incorrect syntax near '{SOFT[kind].split()[0]}'."


@pytest.mark.parametrize("place", NOT_PLACES)
def test_reserved_words_need_no_semicolon(place):
    for sql in ("SELECT 1", "END CONVERSATION @h", "PRINT 1", "WAITFOR (RECEIVE * FROM q)"):
        parse_batch(place.format(sql))
    parse_batch(place.format("BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b'"))
    parse_batch(place.format("BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1"))


def test_with_needs_a_semicolon_before_it():
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("DECLARE @a INT WITH c AS (SELECT 1 AS x) SELECT x FROM c")
    assert caught.value.number == 319
    parse_batch("DECLARE @a INT; WITH c AS (SELECT 1 AS x) SELECT x FROM c")


def test_whether_a_statement_was_terminated_is_recorded():
    statements = parse_batch("SET @a = 1; SET @a = 2 IF 1 = 1 SET @a = 3; SET @a = 4").statements
    assert [statement.terminated for statement in statements] == [True, False, True, False]
    assert statements[2].then.terminated


def test_the_semicolon_lies_behind_the_end_of_the_statement():
    batch = parse_batch("BEGIN PRINT 1 ; END ;")
    block = batch.statements[0]
    assert batch.source.slice(block) == "BEGIN PRINT 1 ; END"
    assert batch.source.slice(block.statements[0]) == "PRINT 1"


def test_the_words_are_ordinary_names_elsewhere():
    parse_batch("SELECT send, receive, get, move, throw AS conversation FROM dialog")
    parse_batch("CREATE TABLE queue (status INT, send INT)")

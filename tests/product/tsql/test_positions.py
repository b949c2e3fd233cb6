"""Lines and columns: of statements for ERROR_LINE, of errors for the client."""

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch, parse_script
from redial.tsql.ast import Send, Source

PROCEDURE = """CREATE PROCEDURE dbo.p
AS
BEGIN
    SET NOCOUNT ON;
    IF @@TRANCOUNT = 0
        BEGIN TRANSACTION;

    SEND ON CONVERSATION @h
        MESSAGE TYPE [//m] (@body);
END;
"""


def test_statements_know_their_line_and_column():
    batch = parse_batch(PROCEDURE)
    block = batch.statements[0].body[0]
    positions = [batch.source.line_column(s.pos) for s in block.statements]
    assert positions == [(4, 5), (5, 5), (8, 5)]
    assert batch.source.line(block.statements[1].then.pos) == 6


def test_the_text_of_a_node_can_be_cut_out():
    batch = parse_batch(PROCEDURE)
    send = next(node for node in batch.walk() if isinstance(node, Send))
    assert batch.source.slice(send).startswith("SEND ON CONVERSATION @h")
    assert batch.source.slice(send).endswith("(@body)")
    assert batch.source.slice(send.message_type) == "[//m]"


def test_lines_count_from_the_first_line_given():
    source = Source("a\nb", first_line=10)
    assert source.line_column(0) == (10, 1)
    assert source.line_column(2) == (11, 1)


def test_a_carriage_return_belongs_to_its_line():
    source = Source("ab\r\ncd")
    assert source.line_column(2) == (1, 3)
    assert source.line_column(4) == (2, 1)


def test_an_error_in_a_later_batch_counts_lines_of_the_script():
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_script("SELECT 1\nGO\n\nSELECT 2\nSELECT FROM t\nGO\n")
    assert (caught.value.line, caught.value.column) == (5, 8)


def test_an_error_at_the_end_names_the_last_token():
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("BEGIN\n  PRINT 'a';\n\n-- nothing more\n")
    assert (caught.value.line, caught.value.column) == (2, 12)
    assert caught.value.message == "Incorrect syntax near ';'."


def test_messages_show_strings_and_names_without_their_delimiters():
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("PRINT 'a' 'it''s'")
    assert caught.value.message == "Incorrect syntax near 'it's'."
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("PRINT 'a' [b c]")
    assert caught.value.message == "Incorrect syntax near 'b c'."


def test_the_error_prints_with_its_position():
    with pytest.raises(TsqlSyntaxError, match=r"^1:8: Msg 156: "):
        parse_batch("SELECT FROM t")

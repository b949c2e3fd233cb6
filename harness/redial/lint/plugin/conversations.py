"""sqlfluff segments of the conversation statements."""

from __future__ import annotations

from sqlfluff.core.parser import (
    BaseSegment,
    Bracketed,
    Dedent,
    Delimited,
    Indent,
    OneOf,
    OptionallyBracketed,
    Ref,
    Sequence,
)
from sqlfluff.dialects import dialect_tsql as tsql

from redial.lint.plugin.parts import EQUALS, EXPRESSION, NAME, ON_OFF, QUEUE, STRING, option


class QueueReferenceSegment(tsql.ObjectReferenceSegment):
    """Name of a queue."""

    type = "queue_reference"


class BeginDialogStatementSegment(BaseSegment):
    """BEGIN DIALOG [CONVERSATION]."""

    type = "begin_dialog_statement"
    match_grammar = Sequence(
        "BEGIN",
        "DIALOG",
        Ref.keyword("CONVERSATION", optional=True),
        Ref("ParameterNameSegment"),
        Indent,
        Sequence("FROM", "SERVICE", NAME),
        Sequence("TO", "SERVICE", STRING, Sequence(Ref("CommaSegment"), STRING, optional=True)),
        Sequence("ON", "CONTRACT", NAME, optional=True),
        Sequence(
            "WITH",
            Delimited(
                option(OneOf("RELATED_CONVERSATION", "RELATED_CONVERSATION_GROUP"), EXPRESSION),
                option("LIFETIME", EXPRESSION),
                option("ENCRYPTION", ON_OFF),
            ),
            optional=True,
        ),
        Dedent,
    )


class BeginConversationTimerStatementSegment(BaseSegment):
    """BEGIN CONVERSATION TIMER."""

    type = "begin_conversation_timer_statement"
    match_grammar = Sequence(
        "BEGIN",
        "CONVERSATION",
        "TIMER",
        Bracketed(EXPRESSION),
        Indent,
        option("TIMEOUT", EXPRESSION),
        Dedent,
    )


class SendStatementSegment(BaseSegment):
    """SEND ON CONVERSATION, to one or several."""

    type = "send_statement"
    match_grammar = Sequence(
        "SEND",
        "ON",
        "CONVERSATION",
        OneOf(
            Bracketed(Delimited(EXPRESSION)),
            Ref("ParameterNameSegment"),
            Ref("QuotedLiteralSegmentOptWithN"),
        ),
        Indent,
        Sequence("MESSAGE", "TYPE", NAME, optional=True),
        Bracketed(EXPRESSION, optional=True),
        Dedent,
    )


class ReceiveClauseSegment(BaseSegment):
    """RECEIVE and its list."""

    type = "receive_clause"
    match_grammar = Sequence(
        "RECEIVE",
        Sequence("TOP", OptionallyBracketed(EXPRESSION), optional=True),
        Indent,
        Delimited(Ref("SelectClauseElementSegment")),
        Dedent,
    )


class ReceiveStatementSegment(BaseSegment):
    """RECEIVE .. FROM .. INTO .. WHERE."""

    type = "receive_statement"
    match_grammar = Sequence(
        Ref("ReceiveClauseSegment"),
        Sequence("FROM", QUEUE),
        Sequence("INTO", Ref("ParameterNameSegment"), optional=True),
        Sequence("WHERE", Ref("ColumnReferenceSegment"), EQUALS, EXPRESSION, optional=True),
    )


class GetConversationGroupStatementSegment(BaseSegment):
    """GET CONVERSATION GROUP."""

    type = "get_conversation_group_statement"
    match_grammar = Sequence(
        "GET", "CONVERSATION", "GROUP", Ref("ParameterNameSegment"), "FROM", QUEUE
    )


class MoveConversationStatementSegment(BaseSegment):
    """MOVE CONVERSATION."""

    type = "move_conversation_statement"
    match_grammar = Sequence("MOVE", "CONVERSATION", EXPRESSION, "TO", EXPRESSION)


STATEMENTS = (
    BeginDialogStatementSegment,
    BeginConversationTimerStatementSegment,
    SendStatementSegment,
    ReceiveStatementSegment,
    GetConversationGroupStatementSegment,
    MoveConversationStatementSegment,
)
PARTS = (QueueReferenceSegment, ReceiveClauseSegment)

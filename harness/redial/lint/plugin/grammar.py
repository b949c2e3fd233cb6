"""Puts the Service Broker statements into sqlfluff's tsql dialect, in place.

In place, because the dialect module registers its own classes anew on every load: a replaced entry
would not survive, a changed ``match_grammar`` does. ``dialect = tsql`` then stays in every
configuration, and sqlfluff's own tsql rules go on working.
"""

from __future__ import annotations

from sqlfluff.core.dialects import load_raw_dialect
from sqlfluff.core.parser import (
    AnyNumberOf,
    BaseSegment,
    Bracketed,
    Dedent,
    Delimited,
    Indent,
    Matchable,
    OneOf,
    Ref,
    Sequence,
)
from sqlfluff.dialects import dialect_tsql as tsql

from redial.lint.plugin import conversations, definitions, keys
from redial.lint.plugin.parts import EQUALS, NAME

STATEMENTS = (*conversations.STATEMENTS, *definitions.STATEMENTS, *keys.STATEMENTS)

_KEYWORDS = """
AUTO DISABLE LOCK_ESCALATION
ACTIVATION ADD ADDRESS AES ALGORITHM ANONYMOUS ANY AUTHENTICATION BINDING BROKER
BROKER_INSTANCE CALLER CERTIFICATE CLEANUP CONTRACT CONTRACT_NAME CONVERSATION COOKIE
DEFAULT_DATABASE DESCRIPTION DIALOG DISABLED EMPTY ENCRYPTION ENDPOINT ERROR EVENT
FAN_IN GET GROUP INITIATOR KERBEROS LIFETIME LISTENER_IP LISTENER_PORT LOB_COMPACTION
LOCAL_SERVICE_NAME LOGIN MAXDOP MAX_QUEUE_READERS MESSAGE MESSAGE_FORWARDING
MESSAGE_FORWARD_SIZE MIRROR_ADDRESS MOVE NEGOTIATE NONE NOTIFICATION NTLM OWNER
POISON_MESSAGE_HANDLING PRIORITY PRIORITY_LEVEL PROCEDURE_NAME QUEUE RC4 REBUILD
RECEIVE RELATED_CONVERSATION RELATED_CONVERSATION_GROUP REMOTE REMOTE_SERVICE_NAME
REORGANIZE REQUIRED RETENTION REVERT ROUTE SELF SEND SENT SERVER SERVICE SERVICE_BROKER
SERVICE_NAME STARTED STATE STATUS STOPPED SUPPORTED TARGET TCP TIMEOUT TIMER VALIDATION
VALID_XML WELL_FORMED_XML WINDOWS XMLNAMESPACES
"""
"""What our statements are made of; sqlfluff knows some already."""


class ImplicitExecuteSegment(BaseSegment):
    """``dbo.usp_x 1, @y = 2`` without EXEC, first in its batch."""

    type = "execute_script_statement"
    match_grammar = Sequence(
        Ref("ObjectReferenceSegment"),
        Indent,
        Delimited(
            Sequence(
                Sequence(Ref("ParameterNameSegment"), EQUALS, optional=True),
                OneOf(Ref("ExpressionSegment"), "DEFAULT"),
                Ref.keyword("OUTPUT", optional=True),
            ),
            optional=True,
        ),
        Dedent,
    )


_BODY = OneOf(
    Ref("OneOrMoreStatementsGrammar"),
    Sequence(
        Ref("ImplicitExecuteSegment"),
        Ref("DelimiterGrammar", optional=True),
        Ref("OneOrMoreStatementsGrammar", optional=True),
    ),
)


class LastBatchSegment(BaseSegment):
    """The text after the last GO."""

    type = "batch"
    match_grammar = _BODY


def installed() -> bool:
    """Whether the dialect knows our statements."""
    return "BeginDialogStatementSegment" in load_raw_dialect("tsql")._library


def install() -> None:
    """Change the dialect; nothing when that has been done (or sqlfluff has caught up)."""
    if installed():
        return
    dialect = load_raw_dialect("tsql")
    kinds = ("reserved_keywords", "unreserved_keywords", "future_reserved_keywords")
    taken = set().union(*(dialect.sets(kind) for kind in kinds))
    dialect.sets("unreserved_keywords").update({*_KEYWORDS.split(), *keys.KEYWORDS.split()} - taken)
    parts = (*conversations.PARTS, *definitions.PARTS, ImplicitExecuteSegment, LastBatchSegment)
    for segment in (*STATEMENTS, *parts):
        dialect.add(**{segment.__name__: segment})
    statement = tsql.StatementSegment
    statement.match_grammar = statement.match_grammar.copy(
        insert=[Ref(segment.__name__) for segment in STATEMENTS], at=0
    )
    _batches()
    _wait_for()
    _namespaces()
    _securables()
    _triggers()
    # sqlfluff takes 'name' only; N'name' is as good (EXECUTE AS clause page).
    tsql.ExecuteAsClauseSegment.match_grammar = Sequence(
        OneOf("EXEC", "EXECUTE"),
        "AS",
        OneOf("CALLER", "SELF", "OWNER", Ref("QuotedLiteralSegmentOptWithN")),
    )


def _elements(segment: type[BaseSegment]) -> list[Matchable]:
    """The parts of what a segment matches, for changing in place."""
    grammar = segment.match_grammar
    assert isinstance(grammar, Sequence)
    return grammar._elements


def _change(segment: type[BaseSegment], grammar: Matchable) -> None:
    """Let it match something else, of another class too."""
    segment.match_grammar = grammar


def _batches() -> None:
    """A call without EXEC only where the server takes one: first in its batch.

    sqlfluff takes "name expression expression .." as a call anywhere, which swallows typing
    mistakes and makes BEGIN + "CONVERSATION TIMER (@h) .." a block with a call in it, longer than
    the timer statement and so preferred. It also lets a batch end anywhere; then a call could
    follow. Here GO separates batches.
    """
    execute = tsql.ExecuteScriptSegment
    forms = _elements(execute)[1]
    execute.match_grammar = Sequence(OneOf("EXEC", "EXECUTE"), forms)
    tsql.BatchSegment.match_grammar = OneOf(
        Sequence(_BODY, Ref("BatchDelimiterGrammar")), Ref("BatchDelimiterGrammar")
    )
    tsql.FileSegment.match_grammar = Sequence(
        AnyNumberOf(Ref("BatchSegment")), Ref("LastBatchSegment", optional=True)
    )


def _triggers() -> None:
    """WITH EXECUTE AS alone: sqlfluff wants ENCRYPTION or SCHEMABINDING before it."""
    parts = _elements(tsql.CreateTriggerStatementSegment)
    at = next(i for i, part in enumerate(parts) if "ExecuteAsClause" in str(part.__dict__))
    parts[at] = Sequence(
        "WITH",
        Delimited(OneOf("ENCRYPTION", "SCHEMABINDING", Ref("ExecuteAsClauseSegment"))),
        optional=True,
    )


def _wait_for() -> None:
    wait = tsql.WaitForStatementSegment
    inner = OneOf(Ref("ReceiveStatementSegment"), Ref("GetConversationGroupStatementSegment"))
    forms = OneOf(
        Sequence(
            "WAITFOR",
            Bracketed(inner),
            Sequence(Ref("CommaSegment"), "TIMEOUT", Ref("ExpressionSegment"), optional=True),
        ),
        wait.match_grammar,
    )
    _change(wait, forms)


def _namespaces() -> None:
    """WITH XMLNAMESPACES; first, since a greedy CTE bracket would match it as unparsable."""
    with_ = tsql.WithCompoundStatementSegment
    forms = OneOf(
        Sequence(
            "WITH",
            Ref("XmlNamespacesSegment"),
            Sequence(
                Ref("CommaSegment"),
                Delimited(Ref("CTEDefinitionSegment"), terminators=["SELECT"]),
                optional=True,
            ),
            OneOf(
                Ref("NonWithSelectableGrammar"),
                Ref("NonWithNonSelectableGrammar"),
                Ref("MergeStatementSegment"),
            ),
        ),
        with_.match_grammar,
    )
    _change(with_, forms)


def _securables() -> None:
    kinds = OneOf(
        "CONTRACT",
        "ENDPOINT",
        Sequence("MESSAGE", "TYPE"),
        Sequence("REMOTE", "SERVICE", "BINDING"),
        "ROUTE",
        "SERVICE",
    )
    securable = tsql.SecurableSegment
    named = Sequence(kinds, Ref("CastOperatorSegment"), NAME)
    _change(securable, OneOf(securable.match_grammar, named))

"""Rules about conversations: dialogs, RECEIVE, END, and what an activated procedure must not do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from redial.lint.model import Module, Rule
from redial.tsql import ast

Findings = Iterator[tuple[ast.Node, str]]

_SYSTEM_TYPE = re.compile(r"https://schemas\.microsoft\.com/SQL/", re.IGNORECASE)
_ERROR_TYPE = "http://schemas.microsoft.com/sql/servicebroker/error"


def encryption_unstated(module: Module) -> Findings:
    """BEGIN DIALOG without ENCRYPTION = ON | OFF."""
    for dialog in module.of(ast.BeginDialog):
        if dialog.encryption is None:
            yield dialog, "BEGIN DIALOG does not state ENCRYPTION"


def cast_in_receive(module: Module) -> Findings:
    """A conversion in RECEIVE's own list."""
    for receive in module.of(ast.Receive):
        for item in receive.items:
            for node in item.walk():
                if isinstance(node, ast.Cast) and not node.function.startswith("TRY_"):
                    yield node, f"{node.function} inside RECEIVE"


def _runs_inside_activation(module: Module) -> bool:
    """A procedure that receives, or that such a one calls."""
    made = next(module.of(ast.CreateProcedure), None)
    return made is not None and made.name.name.lower() in module.script.activated


def log_in_activation(module: Module) -> Findings:
    """RAISERROR .. WITH LOG in a procedure that receives, or that such a one calls."""
    if not _runs_inside_activation(module):
        return
    for raised in module.of(ast.RaiseError):
        if "LOG" in raised.options:
            yield raised, "RAISERROR WITH LOG in a procedure that runs inside activation"


def local_join_hint(module: Module) -> Findings:
    """INNER LOOP JOIN and its like in a procedure that receives, or that such a one calls."""
    if not _runs_inside_activation(module):
        return
    for join in module.of(ast.Join):
        if join.hint is not None:
            yield join, f"{join.hint} JOIN in a procedure that runs inside activation"


def end_before_resend(module: Module) -> Findings:
    """END CONVERSATION in the branch that answers an Error message, with nothing in the procedure
    looking at what the conversation still has to send before it."""
    looks = [node.pos for node in module.nodes if _looks_at_pending(node)]
    for end in module.of(ast.EndConversation):
        if end.cleanup or any(at < end.pos for at in looks):
            continue
        inside: ast.Node = end
        for above in module.above(end):
            if isinstance(above, ast.If) and above.then is inside and _asks_for_error(above):
                yield end, "END CONVERSATION with nothing looking at its pending messages before"
                break
            inside = above


def _asks_for_error(branch: ast.If) -> bool:
    return any(
        isinstance(node, ast.Literal)
        and isinstance(node.value, str)
        and node.value.lower() == _ERROR_TYPE
        for node in branch.condition.walk()
    )


def _looks_at_pending(node: ast.Node) -> bool:
    """Reads sys.transmission_queue, or calls a procedure that is named after resending."""
    if isinstance(node, ast.TableRef):
        return node.name.name.lower() == "transmission_queue"
    return (
        isinstance(node, ast.ExecuteProcedure)
        and isinstance(node.procedure, ast.ObjectName)
        and "resend" in node.procedure.name.lower()
    )


def cleanup(module: Module) -> Findings:
    """END .. WITH CLEANUP outside an operator's procedure."""
    if module.operator:
        return
    for end in module.of(ast.EndConversation):
        if end.cleanup:
            yield end, "END CONVERSATION WITH CLEANUP outside an operator's procedure"


def https(module: Module) -> Findings:
    """A system message type or contract spelled with https."""
    for node in module.of(ast.Literal, ast.Identifier):
        text = node.value if isinstance(node, ast.Literal) else node.text
        if isinstance(text, str) and _SYSTEM_TYPE.match(text):
            yield node, "a system name of Service Broker begins with http://, not https://"


BROKER = (
    Rule(
        "SB02",
        "encryption_unstated",
        "The default is ON: between databases a dialog without certificates then waits in "
        "sys.transmission_queue for ever, and a master key is needed.",
        "State ENCRYPTION = OFF, or ON where there are certificates.",
        "https://stackoverflow.com/questions/2599839: messages to another server stay in "
        "sys.transmission_queue, whose status asks for a certificate or ENCRYPTION = OFF.",
        encryption_unstated,
    ),
    Rule(
        "SB04",
        "cast_in_receive",
        "When the conversion fails, RECEIVE fails: activation rolls back, and after five times the "
        "queue is off. A failed CAST to xml also ends the batch.",
        "RECEIVE message_body into a varbinary(max) variable; TRY_CAST it afterwards, in its own "
        "statement.",
        "https://www.dcac.com/2008/07/07/back-to-basics-the-receive-command-and-end-conversation/: "
        "@message_body=cast(message_body as XML) inside RECEIVE TOP (1).",
        cast_in_receive,
    ),
    Rule(
        "SB05",
        "log_in_activation",
        "Needs ALTER TRACE, which the activated principal lacks: the error handler itself then "
        "fails (2778) and takes the transaction with it.",
        "Write to a table of your own, in a transaction of its own.",
        "Seed 000's activation procedure "
        "(https://rusanu.com/2007/05/03/recycling-conversations/) and seed 002's: RAISERROR("
        "N'Received error Code:%i ...', 16, 1, @error, @description) WITH LOG.",
        log_in_activation,
    ),
    Rule(
        "SB06",
        "end_before_resend",
        "END deletes what the conversation has not delivered yet: those messages are lost without "
        "a trace.",
        "Copy the rows of sys.transmission_queue to a new dialog or a dead-letter table first, in "
        "the same transaction.",
        "Seed 000's activation procedure ends on Error at once; seed 004 "
        "(https://rusanu.com/2007/12/03/resending-messages/) is about what that loses.",
        end_before_resend,
    ),
    Rule(
        "SB07",
        "cleanup",
        "Removes one side without telling the other, which keeps its endpoint and sends its "
        "messages again.",
        "END CONVERSATION; keep WITH CLEANUP for a procedure an operator calls by hand, marked "
        "`/* lint: operator */`.",
        "Seed 003's author has a cursor for it; "
        "https://rusanu.com/2014/03/31/how-to-prevent-conversation-endpoint-leaks/ asks never to "
        "deploy it, and so does the END CONVERSATION page.",
        cleanup,
    ),
    Rule(
        "SB10",
        "https",
        "Names are compared byte by byte: the comparison is never true, so Error and EndDialog "
        "messages are not recognized and the endpoints stay.",
        "Write http://schemas.microsoft.com/SQL/...",
        "https://learn.microsoft.com/sql/database-engine/service-broker/handling-poison-messages: "
        "its procedure compares with 'https://schemas.microsoft.com/SQL/ServiceBroker/Error', "
        "since links were rewritten, code included.",
        https,
    ),
    Rule(
        "SB14",
        "local_join_hint",
        "Each compile says so (message 8625), and what an activated procedure says goes to the "
        "server's log. It also fixes the order of all joins, inside of views too.",
        "OPTION (FORCE ORDER, LOOP JOIN), which says nothing.",
        "http://www.sqlrelease.com/join-order-enforced-local-join-hint-used-warning-sql-server: the "
        "warning of INNER MERGE JOIN, and that FORCE ORDER silences it.",
        local_join_hint,
    ),
)

"""Rules about locks that outlive nothing, and handlers that do not look."""

from __future__ import annotations

from collections.abc import Iterator

from redial.lint.model import Module, Rule
from redial.tsql import ast

Findings = Iterator[tuple[ast.Node, str]]

_WORK = (
    ast.Commit,
    ast.Rollback,
    ast.SaveTransaction,
    ast.Send,
    ast.EndConversation,
    ast.Insert,
    ast.Update,
    ast.Delete,
    ast.Merge,
)


def updlock_alone(module: Module) -> Findings:
    """UPDLOCK in a SELECT where no transaction is open or asked about."""
    opened = [node.pos for node in module.of(ast.BeginTransaction)]
    opened += [node.pos for node in module.of(ast.GlobalVariable) if node.name == "@@TRANCOUNT"]
    opened += [
        node.pos
        for node in module.of(ast.SetOption)
        if node.on and "IMPLICIT_TRANSACTIONS" in node.names
    ]
    for hint in module.of(ast.TableHint):
        if hint.name != "UPDLOCK" or any(at < hint.pos for at in opened):
            continue
        inside = {type(node) for node in module.above(hint)}
        if not inside & {ast.Update, ast.Delete, ast.Merge, ast.Insert}:
            yield hint, "UPDLOCK outside a transaction"


def unchecked_state(module: Module) -> Findings:
    """A CATCH that works on before it has looked at XACT_STATE or rolled everything back."""
    for attempt in module.of(ast.TryCatch):
        for node in (node for statement in attempt.handler for node in statement.walk()):
            if _settles(node):
                break
            if isinstance(node, _WORK) and not _on_variable(node):
                yield node, "CATCH works on without looking at XACT_STATE()"
                break


def _settles(node: ast.Node) -> bool:
    """From here on the handler knows where it stands."""
    if isinstance(node, ast.FunctionCall):
        return node.name.name.upper() == "XACT_STATE"
    return isinstance(node, ast.Rollback) and node.name is None


def _on_variable(node: ast.Node) -> bool:
    """Rows of a table variable are not logged for the transaction: allowed in a doomed one."""
    return isinstance(getattr(node, "target", None), ast.Variable)


TRANSACTIONS = (
    Rule(
        "SB09",
        "updlock_alone",
        "Outside a transaction the lock ends with its statement, and on a missing row it locks "
        "nothing: the SEND behind it races with the recycling procedure, and a message is lost "
        "after EndOfStream.",
        "Open the transaction before the look-up, commit after the SEND.",
        "Seeds 000 and 002: FROM [ServiceBrokerConversations] WITH (UPDLOCK), called outside a "
        "transaction.",
        updlock_alone,
    ),
    Rule(
        "SB11",
        "unchecked_state",
        "A doomed transaction (-1) can only be rolled back: anything else in the handler fails "
        "with 3930, and activation counts one more rollback.",
        "Branch on XACT_STATE(): -1 ROLLBACK; 1 decide; 0 nothing is open. Or roll everything back "
        "first.",
        "http://michaeljswart.com/2017/01/case-study-troubleshooting-doomed-transactions/: a CATCH "
        "that goes on working reports 3930 instead of what went wrong.",
        unchecked_state,
    ),
)

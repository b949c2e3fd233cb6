"""Databases nobody can write to: which statements write (ALTER DATABASE SET options page, 3906).

Definitions are refused where they are put into the database (``Database.put``); row changes and the
verbs of Service Broker are refused here, when they are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

_ROWS = (ast.Insert, ast.Update, ast.Delete, ast.Merge)
_VERBS = (
    ast.BeginDialog,
    ast.BeginTimer,
    ast.Send,
    ast.Receive,
    ast.GetConversationGroup,
    ast.MoveConversation,
    ast.EndConversation,
)


def target_names(node: ast.Node) -> list[ast.ObjectName | None]:
    """Names of what a statement writes to; None stands for the current database."""
    if isinstance(node, _VERBS):
        return [None]
    found: list[Any] = []
    if isinstance(node, _ROWS):
        found = [_table(node), *(clause.into for clause in node.outputs or [])]
    elif isinstance(node, ast.TruncateTable):
        found = [node.name]
    return [
        name for name in found if isinstance(name, ast.ObjectName) and not name.name.startswith("#")
    ]


def _table(node: Any) -> Any:
    """The target; the table itself where an UPDATE or DELETE names an alias of its FROM."""
    if isinstance(node, ast.Update | ast.Delete) and isinstance(node.target, ast.ObjectName):
        left = list(node.from_)
        while left:
            source = left.pop()
            if isinstance(source, ast.Join | ast.Apply):
                left += [source.left, source.right]
            elif isinstance(source, ast.TableRef) and source.alias is not None:
                single = len(node.target.parts) == 1
                if single and node.target.name.lower() == source.alias.lower():
                    return source.name
    return node.target


def guarded(run: Any, node: ast.Node, database: Database) -> Any:
    """The statement's run, refused when it writes to a database nobody can write to."""
    databases = database.server.databases if database.server is not None else {}
    for name in target_names(node):
        other = name.database if name is not None else None
        target = database if not other else databases.get(other.lower())
        if target is not None and target.read_only:
            return _refusal(target)
    return run


def _refusal(database: Database) -> Any:
    def refuse(session: SessionState, variables: Values) -> None:
        database.check_writable()

    return refuse

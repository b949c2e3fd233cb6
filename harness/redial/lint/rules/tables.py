"""Rules about the table of open conversations, which senders and activation share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redial.lint.model import Module, Rule
from redial.tsql import ast

Findings = Iterator[tuple[ast.Node, str]]


def delete_by_handle(module: Module) -> Findings:
    """DELETE whose only condition is on the handle column."""
    for delete in module.of(ast.Delete):
        if not _deletes_from_it(module, delete) or delete.where is None:
            continue
        columns = {
            node.parts[-1].lower()
            for node in delete.where.walk()
            if isinstance(node, ast.ColumnRef)
        }
        if columns == {module.options.handle.lower()}:
            yield delete, f"DELETE {module.options.table} by {module.options.handle} alone"


def _deletes_from_it(module: Module, delete: ast.Delete) -> bool:
    """By its name, or by an alias of the second FROM."""
    if module.is_table(delete.target):
        return True
    named = delete.target.name.lower()
    return any(
        isinstance(node, ast.TableRef)
        and module.is_table(node.name)
        and (node.alias or "").lower() == named
        for source in delete.from_
        for node in source.walk()
    )


def without_forceseek(module: Module) -> Findings:
    """Any access to the table that leaves the choice of a scan to the optimizer."""
    for source in module.of(ast.TableRef):
        if module.is_table(source.name) and not _seeks(source.hints):
            yield source, f"{module.options.table} is read without FORCESEEK"
    for change in module.of(ast.Update, ast.Delete, ast.Merge):
        if module.is_table(change.target) and not _seeks(change.hints or ()):
            verb = type(change).__name__.upper()
            yield change, f"{verb} {module.options.table} without FORCESEEK"


def _seeks(hints: Iterable[ast.TableHint]) -> bool:
    """FORCESEEK, or READPAST: a scan that skips what is locked waits for nobody."""
    return any(hint.name in {"FORCESEEK", "READPAST"} for hint in hints)


TABLES = (
    Rule(
        "SB08",
        "delete_by_handle",
        "The delete takes the key of the nonclustered index first and the clustered one second; a "
        "sender takes them the other way round: a deadlock.",
        "Read the key by the handle while holding nothing, then delete by key and compare the "
        "handle again.",
        "Seed 000 (https://rusanu.com/2007/05/03/recycling-conversations/), in both procedures: "
        "DELETE FROM [SessionConversations] WHERE Handle = @handle. The second deadlock behind "
        "seed 002's.",
        delete_by_handle,
    ),
    Rule(
        "SB13",
        "without_forceseek",
        "A table of a few rows may be scanned, and a scan that asks for locks waits for everybody.",
        "Seek the clustered key WITH (FORCESEEK).",
        "Seed 000's look-up (https://rusanu.com/2007/05/03/recycling-conversations/): FROM "
        "[SessionConversations] WITH (UPDLOCK). Right on a large table, all against all on a small "
        "one.",
        without_forceseek,
    ),
)

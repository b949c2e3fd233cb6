"""What a cursor was declared as: options that go together, and what they make of it.

Source: "DECLARE CURSOR" page; 1048 for options that exclude each other, 16957 for FOR UPDATE on a
cursor that cannot be updated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition

if TYPE_CHECKING:
    from redial_broker.exec.context import Context

STATIC, KEYSET, DYNAMIC = "STATIC", "KEYSET", "DYNAMIC"
READ_ONLY, OPTIMISTIC, SCROLL_LOCKS = "READ_ONLY", "OPTIMISTIC", "SCROLL_LOCKS"

_EXCLUDE = (
    ("LOCAL", "GLOBAL"),
    ("FORWARD_ONLY", "SCROLL"),
    ("FAST_FORWARD", "SCROLL"),
    ("STATIC", "KEYSET"),
    ("STATIC", "DYNAMIC"),
    ("STATIC", "FAST_FORWARD"),
    ("KEYSET", "DYNAMIC"),
    ("KEYSET", "FAST_FORWARD"),
    ("DYNAMIC", "FAST_FORWARD"),
    ("READ_ONLY", "SCROLL_LOCKS"),
    ("READ_ONLY", "OPTIMISTIC"),
    ("SCROLL_LOCKS", "OPTIMISTIC"),
    ("FAST_FORWARD", "SCROLL_LOCKS"),
    ("FAST_FORWARD", "OPTIMISTIC"),
    ("STATIC", "SCROLL_LOCKS"),
    ("STATIC", "OPTIMISTIC"),
    ("INSENSITIVE", "SCROLL_LOCKS"),
    ("INSENSITIVE", "OPTIMISTIC"),
)


@definition()
@dataclass(frozen=True, slots=True)
class CursorOptions:
    """The declaration."""

    local: bool
    scroll: bool
    requested: str
    """The type asked for."""
    concurrency: str | None
    """None when not stated."""
    update: tuple[str, ...] | None
    """Columns of FOR UPDATE OF, () for all, None without FOR UPDATE."""
    warn: bool


def cursor_options(node: ast.CursorDefinition, context: Context) -> CursorOptions:
    """Read a declaration. Raises 1048 and 16957."""
    options = {option.upper() for option in node.options}
    if node.read_only:
        options.add(READ_ONLY)
    for one, two in _EXCLUDE:
        if one in options and two in options:
            raise context.fail(node, SqlError(1048, two, one, aborts="scope"))
    fixed = bool(options & {STATIC, "INSENSITIVE"})
    if node.for_update is not None and (fixed or options & {READ_ONLY, "FAST_FORWARD"}):
        raise context.fail(node, SqlError(16957, aborts="scope"))
    requested = STATIC if fixed else KEYSET if KEYSET in options else DYNAMIC
    concurrency = next((o for o in (READ_ONLY, OPTIMISTIC, SCROLL_LOCKS) if o in options), None)
    if "FAST_FORWARD" in options:
        concurrency = READ_ONLY
    scrolls = bool(options & {"SCROLL", STATIC, KEYSET, DYNAMIC}) and not options & {
        "FORWARD_ONLY",
        "FAST_FORWARD",
    }
    update = None if node.for_update is None else tuple(n.lower() for n in node.for_update)
    return CursorOptions(
        "LOCAL" in options, scrolls, requested, concurrency, update, "TYPE_WARNING" in options
    )

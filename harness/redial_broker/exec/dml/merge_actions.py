"""The WHEN clauses of MERGE: which are allowed together, and what each does to a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.dml.changes import Change
from redial_broker.exec.dml.insert import given_values
from redial_broker.exec.dml.matching import SOURCE, TARGET, Matching, restricted
from redial_broker.exec.dml.rows import InsertColumns, insert_columns, row_maker
from redial_broker.exec.dml.update import Assignments
from redial_broker.exec.expressions import compile_condition
from redial_broker.exec.query.aggregates import has_aggregate
from redial_broker.exec.query.froms import From

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.dml.changes import Read
    from redial_broker.exec.session import SessionState

INSERT, UPDATE, DELETE = "INSERT", "UPDATE", "DELETE"
_KINDS = {ast.MergeInsert: INSERT, ast.MergeUpdate: UPDATE, ast.MergeDelete: DELETE}
_CANNOT_BIND = {TARGET: 5333, SOURCE: 5334}


@dataclass(slots=True)
class Action:
    """One WHEN clause."""

    match: str
    kind: str
    test: Fn | None
    new: Callable[[SessionState, Values, RowValues, RowValues, Any], RowValues] | None
    """(s, locals, row read, old row, table) -> new row; None for DELETE."""


def check_clauses(node: ast.Merge, context: Context) -> None:
    """How often and in which order WHEN clauses may stand (MERGE page). Raises 10714, 5324."""
    for match in ("MATCHED", TARGET, SOURCE):
        clauses = [when for when in node.whens if when.match == match]
        for earlier, later in pairwise(clauses):
            kind = _KINDS[type(later.action)]
            shown = f"WHEN {match}"
            if any(
                type(when.action) is type(later.action) for when in clauses if when is not later
            ):
                raise context.fail(later, SqlError(10714, kind, shown, aborts="scope"))
            if earlier.condition is None:
                raise context.fail(later, SqlError(5324, shown, shown, aborts="scope"))


class Actions:
    """All WHEN clauses, in order. kinds: of the actions; updated: ordinals any of them assigns to;
    slots: of variables they set; chosen: the columns of the INSERT.
    """

    def __init__(self, node: ast.Merge, matching: Matching, context: Context) -> None:
        self.matching, self.context, self.target = matching, context, matching.target
        self.kinds: set[str] = set()
        self.updated: set[int] = set()
        self.slots: list[int] = []
        self.chosen = InsertColumns([], False, False)
        self.items = [self._compile(when) for when in node.whens]

    def choose(
        self, session: SessionState, variables: Values, match: str, row: RowValues
    ) -> Action | None:
        """The first clause for a row that accepts it."""
        for action in self.items:
            if action.match == match and (
                action.test is None or action.test(session, variables, row)
            ):
                return action
        return None

    # ------------------------------------------------------------------ compiling
    def _compile(self, when: ast.MergeWhen) -> Action:
        matching = self.matching
        sources = {TARGET: matching.others, SOURCE: [matching.from_.changed]}.get(when.match)
        from_ = matching.from_ if sources is None else restricted(matching.from_, sources)
        if has_aggregate(when.condition):
            raise self.context.fail(when, SqlError(5319, aborts="scope"))
        kind = _KINDS[type(when.action)]
        self.kinds.add(kind)
        try:
            test = (
                None if when.condition is None else compile_condition(when.condition, from_.scope)
            )
            return Action(when.match, kind, test, self._new(when.action, from_))
        except SqlError as error:
            raise self._unbound(error, when) from None

    def _unbound(self, error: SqlError, when: ast.MergeWhen) -> SqlError:
        """A name only the hidden side has is 5333 or 5334, not an unknown one."""
        number = _CANNOT_BIND.get(when.match)
        if error.number not in {207, 4104} or number is None:
            return error
        names = self.matching.from_.names
        for part in when.walk():
            if isinstance(part, ast.ColumnRef) and names.find(part):
                shown = ".".join(part.parts)
                if shown in error.text or part.parts[-1] in error.text:
                    return self.context.fail(part, SqlError(number, shown, aborts="scope"))
        return error

    def _new(
        self, action: ast.MergeUpdate | ast.MergeDelete | ast.MergeInsert, from_: From
    ) -> Callable[..., Any] | None:
        if isinstance(action, ast.MergeDelete):
            return None
        if isinstance(action, ast.MergeUpdate):
            for node in action.assignments:
                if isinstance(node, ast.Assignment) and node.variable and node.column:
                    raise self.context.fail(node, SqlError(10723, aborts="scope"))
            unread = cast("Read", None)  # ``Matching`` has read the rows
            assignments = Assignments(
                action.assignments, Change(self.target, from_, unread), self.context
            )
            self.updated |= assignments.ordinals
            self.slots += assignments.slots
            return assignments.apply
        return self._insert(action, from_)

    def _insert(self, action: ast.MergeInsert, from_: From) -> Callable[..., Any]:
        given = {}
        if isinstance(action.source, ast.Values):
            self.chosen = insert_columns(self.target, action.columns, self.context, action)
            given = given_values(
                action.source.rows[0],
                action.source,
                self.target,
                self.chosen,
                from_.scope,
                self.context,
            )
        make = row_maker(self.target, given)
        return lambda session, variables, row, old, table: make(session, variables, row, table)

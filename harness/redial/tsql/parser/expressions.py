"""Values and conditions: precedence climbing, and conditions told from values without backtracking.

A parenthesis in a condition may hold a condition or a value. ``condition_or_value`` returns
whichever it met, and the caller decides whether that is allowed there.
"""

from __future__ import annotations

from redial.tsql.ast import (
    And,
    AtTimeZone,
    Between,
    BinaryOp,
    Collate,
    ColumnRef,
    Comparison,
    Exists,
    Expression,
    InList,
    InQuery,
    IsDistinctFrom,
    IsNull,
    Like,
    Literal,
    MethodCall,
    Not,
    ObjectName,
    Or,
    Predicate,
    QuantifiedComparison,
    Query,
    ScalarSubquery,
    Star,
    UnaryOp,
    UpdatedColumn,
)
from redial.tsql.keywords import XML_METHODS
from redial.tsql.lexer import QUOTED
from redial.tsql.parser.cursor import MAX_CHAIN, MAX_DEPTH
from redial.tsql.parser.functions import FunctionParser

LEVELS = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1, "&": 1, "|": 1, "^": 1}
"""Binding strength (Operator Precedence page): + - & | ^ share one level, left to right."""

COMPARISONS = {
    "=": "=",
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    ">": ">",
    "<=": "<=",
    ">=": ">=",
    "!<": ">=",
    "!>": "<=",
}
_SPLIT_COMPARISONS = {("<", "="): "<=", ("<", ">"): "<>", (">", "="): ">="}
"""The server lets blanks stand inside a comparison operator."""

_POSTFIX = frozenset({".", "COLLATE", "AT"})
_PREDICATE_WORDS = frozenset({"IS", "NOT", "IN", "LIKE", "BETWEEN"})


class ExpressionParser(FunctionParser):
    """Values and conditions."""

    # ------------------------------------------------------------------------------------ values
    def expression(self) -> Expression:
        """Read a value."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        start = self.starts[self.i]
        left = self.operand()
        if self.words[self.i] in LEVELS:
            left = self._operators(left, 1, start)
        self.depth -= 1
        return left

    def _operators(self, left: Expression, minimum: int, start: int) -> Expression:
        """Read ``op operand ..`` after ``left`` for operators of level ``minimum`` and up."""
        words = self.words
        chain = 0
        while (level := LEVELS.get(words[self.i], 0)) >= minimum:
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            op = words[self.i]
            self.i += 1
            right_start = self.starts[self.i]
            right = self.operand()
            if LEVELS.get(words[self.i], 0) > level:
                right = self._operators(right, level + 1, right_start)
            left = BinaryOp(start, self.ends[self.i - 1], op, left, right)
        return left

    def signed_number(self) -> Expression:
        """Read a constant number with its sign, as IDENTITY and CREATE SEQUENCE want it."""
        at = self.i
        value = self.operand()
        number = value.operand if isinstance(value, UnaryOp) else value
        if not isinstance(number, Literal) or number.kind not in ("int", "decimal"):
            self.i = at + (self.words[at] in ("+", "-"))
            self.unexpected()
        return value

    def operand(self) -> Expression:
        """Read signs, a primary, and what may follow it."""
        signs: list[tuple[int, str]] = []
        while self.words[self.i] in ("-", "+", "~"):
            signs.append((self.starts[self.i], self.words[self.i]))
            self.i += 1
        if len(signs) > MAX_DEPTH:
            self.too_deep()
        start = self.starts[self.i]
        value = self.primary()
        if self.words[self.i] in _POSTFIX:
            value = self._postfix(value, start)
        for start, sign in reversed(signs):
            value = UnaryOp(start, self.last_end(), sign, value)
        return value

    def _postfix(self, value: Expression, start: int) -> Expression:
        """Read ``.method(..)``, COLLATE and AT TIME ZONE behind a primary."""
        chain = 0
        while True:
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            if self.accept("."):
                value = self.method_call(value, start)
            elif self.accept("COLLATE"):
                collation = self.name()
                value = Collate(start, self.last_end(), value, collation)
            elif self.accept_all("AT", "TIME", "ZONE"):
                zone = self.primary()
                value = AtTimeZone(start, self.last_end(), value, zone)
            else:
                return value

    def method_call(self, target: Expression, start: int) -> MethodCall:
        """Read ``name(arguments)`` after the dot."""
        method = self.name()
        self.expect("(")
        arguments = [] if self.words[self.i] == ")" else self.list_of(self.expression)
        self.expect(")")
        return MethodCall(start, self.last_end(), target, method, arguments)

    def parenthesis(self) -> Expression:
        """Read ``(value)`` or ``(query)``."""
        start = self.starts[self.i]
        self.i += 1
        if self.at_query():
            return self._subquery(start)
        value = self.expression()
        self.expect(")")
        return value

    def at_query(self) -> bool:
        """Tell whether SELECT, or parentheses opening a SELECT, are next."""
        i = self.i
        while self.words[i] == "(":
            i += 1
        if self.words[i] != "SELECT":
            return False
        return i == self.i or self._query_goes_on(i)

    def _query_goes_on(self, i: int) -> bool:
        """Tell ``((SELECT 1) UNION SELECT 2)`` from ``((SELECT 1) + 2)``.

        i: the SELECT. Looks behind the parenthesis that closes it.
        """
        depth = 1
        while depth and i < len(self.words) - 1:
            i += 1
            depth += {"(": 1, ")": -1}.get(self.words[i], 0)
        return self.words[min(i + 1, len(self.words) - 1)] in ("UNION", "EXCEPT", "INTERSECT")

    def _subquery(self, start: int) -> ScalarSubquery:
        query = self.query()
        self.expect(")")
        return ScalarSubquery(start, self.last_end(), query)

    def column_or_call(self) -> Expression:
        """Read a column, ``t.*``, a function call, or an XML method of a column."""
        first = i = self.i
        words = self.words
        if self.kinds[i] > QUOTED:
            self.unexpected()
        name = self.name()
        if words[self.i] == "(":
            return self.function_call(first)
        if words[self.i] != ".":
            if words[self.i] == "::":
                self.not_supported("a static method call (::)")
            return ColumnRef(self.starts[first], self.ends[first], (name,))
        parts = [name]
        start = self.starts[first]
        while words[self.i] == ".":
            if words[self.i + 1] == "*":
                self.i += 2
                return Star(start, self.last_end(), tuple(parts))
            self.i += 1
            while words[self.i] == ".":
                self.i += 1
                parts.append("")
            i = self.i
            parts.append(self.name())
        if words[self.i] != "(":
            if len(parts) > 4:
                self.error(117, "column", self.text[start : self.last_end()], 3, at=first)
            return ColumnRef(start, self.last_end(), tuple(parts))
        if parts[-1] in XML_METHODS:
            column = ColumnRef(start, self.ends[i - 2], tuple(parts[:-1]))
            self.i = i
            return self.method_call(column, start)
        return self.call_tail(ObjectName(start, self.last_end(), tuple(parts)))

    # -------------------------------------------------------------------------------- conditions
    def condition(self) -> Predicate:
        """Read a condition; a value in its place is error 4145."""
        return self._as_predicate(self.condition_or_value())

    def _as_predicate(self, found: Predicate | Expression) -> Predicate:
        if not isinstance(found, Predicate):
            self.error(4145, self.near(self.i))
        return found

    def condition_or_value(self) -> Predicate | Expression:
        """Read a condition, or the value found in its place."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        start = self.starts[self.i]
        left = self._conjunction()
        if self.words[self.i] == "OR":
            operands = [self._as_predicate(left)]
            while self.accept("OR"):
                operands.append(self._as_predicate(self._conjunction()))
            left = Or(start, self.last_end(), operands)
        self.depth -= 1
        return left

    def _conjunction(self) -> Predicate | Expression:
        start = self.starts[self.i]
        left = self._negation()
        if self.words[self.i] == "AND":
            operands = [self._as_predicate(left)]
            while self.accept("AND"):
                operands.append(self._as_predicate(self._negation()))
            left = And(start, self.last_end(), operands)
        return left

    def _negation(self) -> Predicate | Expression:
        if self.words[self.i] != "NOT":
            return self._predicate()
        starts = []
        while self.words[self.i] == "NOT":
            starts.append(self.starts[self.i])
            self.i += 1
        if len(starts) > MAX_DEPTH:
            self.too_deep()
        result = self._as_predicate(self._predicate())
        for start in reversed(starts):
            result = Not(start, self.last_end(), result)
        return result

    def _predicate(self) -> Predicate | Expression:
        word = self.words[self.i]
        start = self.starts[self.i]
        if word == "(":
            left = self._group(start)
            if isinstance(left, Predicate):
                return left
        elif word == "EXISTS":
            self.i += 1
            query = self._query_in_parentheses()
            return Exists(start, self.last_end(), query)
        elif word == "UPDATE" and self.words[self.i + 1] == "(":
            self.i += 2
            column = self.identifier()
            self.expect(")")
            return UpdatedColumn(start, self.last_end(), column)
        elif word in ("CONTAINS", "FREETEXT", "TSEQUAL"):
            self.not_supported(f"the predicate {word}")
        else:
            left = self.expression()
        word = self.words[self.i]
        if word in COMPARISONS:
            return self._comparison(left, start)
        if word in _PREDICATE_WORDS:
            return self._word_predicate(left, start)
        return left

    def _group(self, start: int) -> Predicate | Expression:
        """Read a parenthesis that may hold a condition; a value goes on as an operand."""
        self.i += 1
        inner: Predicate | Expression
        if self.at_query():
            inner = self._subquery(start)
        else:
            inner = self.condition_or_value()
            self.expect(")")
            if isinstance(inner, Predicate):
                return inner
        if self.words[self.i] in _POSTFIX:
            inner = self._postfix(inner, start)
        return self._operators(inner, 1, start)

    def _query_in_parentheses(self) -> Query:
        self.expect("(")
        query = self.query()
        self.expect(")")
        return query

    def _comparison(self, left: Expression, start: int) -> Predicate:
        op = COMPARISONS[self.words[self.i]]
        joined = _SPLIT_COMPARISONS.get((op, self.words[self.i + 1]))
        if joined:
            op = joined
            self.i += 1
        self.i += 1
        quantifier = self.accept_any("ALL", "ANY", "SOME")
        if quantifier:
            kind = "ALL" if quantifier == "ALL" else "ANY"
            query = self._query_in_parentheses()
            return QuantifiedComparison(start, self.last_end(), op, left, kind, query)
        right = self.expression()
        return Comparison(start, self.ends[self.i - 1], op, left, right)

    def _word_predicate(self, left: Expression, start: int) -> Predicate:
        if self.accept("IS"):
            negated = self.accept("NOT")
            if self.accept_all("DISTINCT", "FROM"):
                right = self.expression()
                return IsDistinctFrom(start, self.last_end(), left, right, negated)
            self.expect("NULL")
            return IsNull(start, self.last_end(), left, negated)
        negated = self.accept("NOT")
        word = self.expect_any("IN", "LIKE", "BETWEEN")
        if word == "IN":
            return self._in(left, negated, start)
        if word == "LIKE":
            pattern = self.expression()
            escape = self.expression() if self.accept("ESCAPE") else None
            return Like(start, self.last_end(), left, pattern, escape, negated)
        low = self.expression()
        self.expect("AND")
        high = self.expression()
        return Between(start, self.last_end(), left, low, high, negated)

    def _in(self, left: Expression, negated: bool, start: int) -> Predicate:
        self.expect("(")
        if self.at_query():
            query = self.query()
            self.expect(")")
            return InQuery(start, self.last_end(), left, query, negated)
        items = self.list_of(self.expression)
        self.expect(")")
        return InList(start, self.last_end(), left, items, negated)

"""Primaries: constants, variables, CASE, CAST, and functions with a syntax of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from redial.tsql.ast import (
    Case,
    Cast,
    ColumnRef,
    DataType,
    DefaultValue,
    Expression,
    FunctionCall,
    GlobalVariable,
    IdentityFunction,
    Iif,
    Literal,
    MethodCall,
    NextValueFor,
    ObjectName,
    OrderItem,
    Over,
    Predicate,
    Query,
    Star,
    Variable,
    When,
    WindowFrame,
)
from redial.tsql.keywords import DATEPART_FUNCTIONS
from redial.tsql.lexer import (
    BINARY,
    GLOBAL,
    KEYWORD,
    MAX_PRECISION,
    MONEY,
    NUMBER,
    STRING,
    VARIABLE,
    WORD,
    binary_value,
)
from redial.tsql.parser.cursor import MAX_INT, TokenCursor
from redial.tsql.parser.json_constructors import json_array, json_object

_NULL_TREATMENT = frozenset({"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE"})
_MULTI_WORD_TYPES = {
    ("DOUBLE", "PRECISION"): "float",
    ("CHAR", "VARYING"): "varchar",
    ("CHARACTER", "VARYING"): "varchar",
    ("BINARY", "VARYING"): "varbinary",
    ("NCHAR", "VARYING"): "nvarchar",
    ("NCHARACTER", "VARYING"): "nvarchar",
    ("NATIONAL", "CHAR"): "nchar",
    ("NATIONAL", "CHARACTER"): "nchar",
    ("NATIONAL", "TEXT"): "ntext",
}
"""Synonyms of two words (Data Type Synonyms page); NATIONAL CHAR VARYING is handled apart."""

_ODBC_TYPES = {"D": "datetime", "T": "datetime", "TS": "datetime", "GUID": "uniqueidentifier"}
"""{d '..'} and kin: the server itself takes ODBC's escape constants."""


class FunctionParser(TokenCursor):
    """Primaries. The general rules it needs are given by the classes built on it."""

    def expression(self) -> Expression:
        """Read a value."""
        raise NotImplementedError

    def condition(self) -> Predicate:
        """Read a condition."""
        raise NotImplementedError

    def query(self) -> Query:
        """Read a query."""
        raise NotImplementedError

    def parenthesis(self) -> Expression:
        """Read a value or query in parentheses."""
        raise NotImplementedError

    def column_or_call(self) -> Expression:
        """Read a column or function by name."""
        raise NotImplementedError

    def method_call(self, target: Expression, start: int) -> MethodCall:
        """Read a method call after its dot."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------- constants
    def primary(self) -> Expression:
        """Read one operand without signs and suffixes."""
        i = self.i
        kind = self.kinds[i]
        if kind == VARIABLE:
            self.i = i + 1
            start, end = self.starts[i], self.ends[i]
            return Variable(start, end, self.text[start:end])
        if kind == STRING:
            return self.string()
        if kind in (WORD, KEYWORD):
            special = _SPECIAL.get(self.words[i])
            if special is not None:
                return special(self)
            return self.column_or_call()
        constant = _CONSTANTS.get(kind)
        if constant is not None:
            self.i = i + 1
            return constant(self, i)
        if self.words[i] == "(":
            return self.parenthesis()
        if self.words[i] == "{":
            return self._odbc_escape()
        return self.column_or_call()

    def _number(self, i: int) -> Literal:
        raw = self.raw(i)
        start, end = self.starts[i], self.ends[i]
        digits = raw.lstrip("0") or "0"
        if raw.isdigit() and len(digits) <= MAX_PRECISION:  # int() refuses thousands of digits
            value = int(digits)
            if value <= MAX_INT:
                return Literal(start, end, "int", value)
        elif "e" in raw or "E" in raw:
            number = float(raw if raw[-1].isdigit() else raw.rstrip("+-") + "0")
            if math.isinf(number):
                self.error(168, raw, 8, at=i)
            return Literal(start, end, "float", number)
        if len(raw.lstrip("0").replace(".", "")) > MAX_PRECISION:
            self.error(1007, raw, at=i)
        return Literal(start, end, "decimal", Decimal(raw))

    def _binary(self, i: int) -> Literal:
        return Literal(self.starts[i], self.ends[i], "binary", binary_value(self.raw(i)))

    def _money(self, i: int) -> Literal:
        digits = self.raw(i)[1:].strip()
        value = Decimal(digits if digits.strip(".") else "0")
        return Literal(self.starts[i], self.ends[i], "money", value)

    def _global(self, i: int) -> GlobalVariable:
        return GlobalVariable(self.starts[i], self.ends[i], self.raw(i).upper())

    def _null(self) -> Literal:
        i = self.i
        self.i = i + 1
        return Literal(self.starts[i], self.ends[i], "null", None)

    def _odbc_escape(self) -> Expression:
        """Read ``{d 'text'}``, ``{ts ..}``, ``{t ..}``, ``{guid ..}`` or ``{fn name(..)}``."""
        start = self.starts[self.i]
        self.expect("{")
        if self.accept("FN"):
            value = self.primary()
            self.expect("}")
            return value
        word = self.expect_any(*_ODBC_TYPES)
        text = self.string()
        self.expect("}")
        name = ObjectName(start, start, (_ODBC_TYPES[word],))
        return Cast(start, self.last_end(), "CAST", text, DataType(start, start, name))

    # --------------------------------------------------------------------------------- functions
    def function_call(self, first: int) -> Expression:
        """Read ``(..)`` after the one-part name at token ``first``."""
        word = self.words[first]
        if word in DATEPART_FUNCTIONS:
            return self._datepart_call(first)
        start, end = self.starts[first], self.ends[first]
        self.i = first
        return self.call_tail(ObjectName(start, end, (self.name(),)))

    def call_tail(self, name: ObjectName) -> FunctionCall:
        """Read arguments, WITHIN GROUP and OVER of a function."""
        self.expect("(")
        distinct = False
        arguments: list[Expression] = []
        if self.words[self.i] == "*":
            self.i += 1
            arguments.append(Star(self.starts[self.i - 1], self.last_end()))
        elif self.words[self.i] != ")":
            distinct = self.accept("DISTINCT")
            if not distinct:
                self.accept("ALL")
            arguments = self.list_of(self._argument)
        self.expect(")")
        return self._call_suffix(FunctionCall(name.pos, self.last_end(), name, arguments, distinct))

    def _call_suffix(self, call: FunctionCall) -> FunctionCall:
        if self.at("IGNORE", "NULLS") or self.at("RESPECT", "NULLS"):
            if call.name.name.upper() not in _NULL_TREATMENT:
                self.unexpected()
            call.nulls = self.word()
            self.i += 1
            if self.words[self.i] != "OVER":
                self.unexpected()
        if self.accept_all("WITHIN", "GROUP"):
            self.expect("(", "ORDER", "BY")
            call.within_group = self.list_of(self.order_item)
            self.expect(")")
        if self.words[self.i] == "OVER":
            call.over = self.over()
        call.end = self.last_end()
        return call

    def _argument(self) -> Expression:
        return self._default() if self.words[self.i] == "DEFAULT" else self.expression()

    def value_or_default(self) -> Expression:
        """Read a value or the keyword DEFAULT."""
        return self._argument()

    def _default(self) -> DefaultValue:
        self.i += 1
        return DefaultValue(self.starts[self.i - 1], self.last_end())

    def _datepart_call(self, first: int) -> FunctionCall:
        """Read DATEADD and kin; their first argument is a word and becomes an Identifier."""
        name = ObjectName(self.starts[first], self.ends[first], (self.raw(first),))
        self.expect("(")
        part: Expression = (
            self.expression() if self.kinds[self.i] == VARIABLE else self.identifier()
        )
        arguments = [part]
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        return FunctionCall(name.pos, self.last_end(), name, arguments)

    def over(self) -> Over:
        """Read ``OVER (PARTITION BY .. ORDER BY .. ROWS|RANGE ..)``."""
        start = self.starts[self.i]
        self.expect("OVER")
        if self.words[self.i] != "(":
            return Over(start, self.ends[self.i], [], [], None, self.name())
        return self.window_specification(start)

    def window_specification(self, start: int) -> Over:
        """Read ``([window] PARTITION BY .. ORDER BY .. ROWS|RANGE ..)``."""
        self.expect("(")
        window = None
        if self.at_identifier() and self.words[self.i] not in ("PARTITION", "ROWS", "RANGE"):
            window = self.name()
        partition: list[Expression] = []
        order: list[OrderItem] = []
        frame = None
        if self.accept_all("PARTITION", "BY"):
            partition = self.list_of(self.expression)
        if self.accept_all("ORDER", "BY"):
            order = self.list_of(self.order_item)
        if self.words[self.i] in ("ROWS", "RANGE"):
            frame = self._frame()
        self.expect(")")
        return Over(start, self.last_end(), partition, order, frame, window)

    def _frame(self) -> WindowFrame:
        first = self.i
        unit = self.word()
        if self.accept("BETWEEN"):
            start = self._frame_bound()
            self.expect("AND")
            finish = self._frame_bound()
        else:
            start, finish = self._frame_bound(), None
        return WindowFrame(self.starts[first], self.last_end(), unit, start, finish)

    def _frame_bound(self) -> tuple[str, Expression | None]:
        if self.accept_all("CURRENT", "ROW"):
            return "CURRENT ROW", None
        if self.accept("UNBOUNDED"):
            return "UNBOUNDED " + self.expect_any("PRECEDING", "FOLLOWING"), None
        count = self.integer()
        return self.expect_any("PRECEDING", "FOLLOWING"), count

    def order_item(self) -> OrderItem:
        """Read ``value [ASC|DESC]``."""
        start = self.starts[self.i]
        value = self.expression()
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        return OrderItem(start, self.last_end(), value, descending)

    def key_column(self) -> OrderItem:
        """Read ``column [ASC|DESC]`` of a key: a name, not an expression."""
        start = self.starts[self.i]
        name = self.name()
        column = ColumnRef(start, self.last_end(), (name,))
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        return OrderItem(start, self.last_end(), column, descending)

    # --------------------------------------------------------------------- functions of their own
    def _case(self) -> Case:
        start = self.starts[self.i]
        self.i += 1
        operand = None if self.words[self.i] == "WHEN" else self.expression()
        whens = []
        while self.words[self.i] == "WHEN":
            at = self.starts[self.i]
            self.i += 1
            condition = self.condition() if operand is None else self.expression()
            self.expect("THEN")
            result = self.expression()
            whens.append(When(at, self.last_end(), condition, result))
        if not whens:
            self.unexpected()
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return Case(start, self.last_end(), operand, whens, otherwise)

    def _cast(self) -> Expression:
        """Read CAST, TRY_CAST, PARSE, TRY_PARSE; without ``(`` the word is an ordinary name."""
        first = self.i
        if self.words[first + 1] != "(":
            return self.column_or_call()
        function = self.words[first]
        self.i += 2
        operand = self.expression()
        if self.words[self.i] != "AS":
            self.error(1035, self.raw(first), "AS")
        self.i += 1
        data_type = self.data_type()
        style = None
        if function in ("PARSE", "TRY_PARSE") and self.accept("USING"):
            style = self.expression()
        self.expect(")")
        return Cast(self.starts[first], self.last_end(), function, operand, data_type, style)

    def _convert(self) -> Cast:
        first = self.i
        self.i += 1
        self.expect("(")
        data_type = self.data_type()
        self.expect(",")
        operand = self.expression()
        style = self.expression() if self.accept(",") else None
        self.expect(")")
        function = self.words[first]
        return Cast(self.starts[first], self.last_end(), function, operand, data_type, style)

    def _reserved_call(self) -> Expression:
        """Read LEFT(..), RIGHT(..), COALESCE(..), NULLIF(..): functions with a reserved name."""
        i = self.i
        if self.words[i + 1] != "(":
            self.unexpected()
        self.i = i + 1
        return self.call_tail(ObjectName(self.starts[i], self.ends[i], (self.raw(i),)))

    def _bare_call(self) -> FunctionCall:
        """Read CURRENT_TIMESTAMP, USER and kin."""
        i = self.i
        self.i = i + 1
        start, end = self.starts[i], self.ends[i]
        name = ObjectName(start, end, (self.raw(i),))
        return FunctionCall(start, end, name, [], without_parentheses=True)

    def _iif(self) -> Expression:
        start = self.starts[self.i]
        if self.words[self.i + 1] != "(":
            return self.column_or_call()
        self.i += 2
        condition = self.condition()
        self.expect(",")
        when_true = self.expression()
        self.expect(",")
        when_false = self.expression()
        self.expect(")")
        return Iif(start, self.last_end(), condition, when_true, when_false)

    def _next_value(self) -> Expression:
        start = self.starts[self.i]
        if not self.accept_all("NEXT", "VALUE", "FOR"):
            return self.column_or_call()
        sequence = self.object_name()
        over = self.over() if self.words[self.i] == "OVER" else None
        return NextValueFor(start, self.last_end(), sequence, over)

    def _trim(self) -> Expression:
        """Read TRIM(value) or TRIM([LEADING|TRAILING|BOTH] characters FROM value).

        The long form becomes a call with arguments value, characters, and the word.
        """
        first = self.i
        if self.words[first + 1] != "(":
            return self.column_or_call()
        self.i += 2
        name = ObjectName(self.starts[first], self.ends[first], (self.raw(first),))
        side: Expression | None = None
        if self.words[self.i] in ("LEADING", "TRAILING", "BOTH") and self.words[self.i + 1] != ")":
            side = self.identifier()
        arguments = [self.expression()]
        if self.accept("FROM"):
            arguments.insert(0, self.expression())
            arguments += [side] if side else []
        elif side:
            self.unexpected()
        self.expect(")")
        return FunctionCall(name.pos, self.last_end(), name, arguments)

    def _pseudo_column(self) -> ColumnRef:
        i = self.i
        self.i = i + 1
        return ColumnRef(self.starts[i], self.ends[i], (self.raw(i),))

    def _identity(self) -> Expression:
        """Read ``IDENTITY (type [, seed, increment])`` of SELECT INTO."""
        start = self.starts[self.i]
        self.expect("IDENTITY", "(")
        data_type = self.data_type()
        seed = increment = 1
        if self.accept(","):
            seed = self._signed()
            self.expect(",")
            increment = self._signed()
        self.expect(")")
        return IdentityFunction(start, self.last_end(), data_type, seed, increment)

    def _signed(self) -> int:
        negative = self.accept("-")
        return -self.whole_number() if negative else self.whole_number()

    def data_type(self) -> DataType:
        """Read a type; synonyms of several words are replaced by the one-word name."""
        first = self.i
        start = self.starts[first]
        name = self._type_name()
        arguments: list[int | str | ObjectName] = []
        document = None
        if self.accept("("):
            if name.name.lower() == "xml":
                word = self.accept_any("CONTENT", "DOCUMENT")
                document = word == "DOCUMENT" if word else None
                arguments.append(self.object_name(3))
            else:
                arguments = self.list_of(self._type_argument)
            self.expect(")")
        return DataType(start, self.last_end(), name, tuple(arguments), document)

    def _type_name(self) -> ObjectName:
        first = self.i
        pair = (self.words[first], self.words[first + 1])
        simple = _MULTI_WORD_TYPES.get(pair)
        if simple is None:
            return self.object_name(3)
        self.i += 2
        if pair[0] == "NATIONAL" and simple == "nchar" and self.accept("VARYING"):
            simple = "nvarchar"
        return ObjectName(self.starts[first], self.last_end(), (simple,))

    def _type_argument(self) -> int | str:
        if self.accept("MAX"):
            return "MAX"
        return self.whole_number()


_CONSTANTS: dict[int, Callable[[FunctionParser, int], Expression]] = {
    NUMBER: FunctionParser._number,
    BINARY: FunctionParser._binary,
    MONEY: FunctionParser._money,
    GLOBAL: FunctionParser._global,
}

_SPECIAL: dict[str, Callable[[FunctionParser], Expression]] = {
    "NULL": FunctionParser._null,
    "CASE": FunctionParser._case,
    "CAST": FunctionParser._cast,
    "TRY_CAST": FunctionParser._cast,
    "PARSE": FunctionParser._cast,
    "TRY_PARSE": FunctionParser._cast,
    "CONVERT": FunctionParser._convert,
    "TRY_CONVERT": FunctionParser._convert,
    "LEFT": FunctionParser._reserved_call,
    "RIGHT": FunctionParser._reserved_call,
    "COALESCE": FunctionParser._reserved_call,
    "NULLIF": FunctionParser._reserved_call,
    "CURRENT_DATE": FunctionParser._bare_call,
    "CURRENT_TIMESTAMP": FunctionParser._bare_call,
    "CURRENT_USER": FunctionParser._bare_call,
    "SESSION_USER": FunctionParser._bare_call,
    "SYSTEM_USER": FunctionParser._bare_call,
    "USER": FunctionParser._bare_call,
    "IIF": FunctionParser._iif,
    "JSON_OBJECT": json_object,
    "JSON_ARRAY": json_array,
    "NEXT": FunctionParser._next_value,
    "TRIM": FunctionParser._trim,
    "IDENTITYCOL": FunctionParser._pseudo_column,
    "ROWGUIDCOL": FunctionParser._pseudo_column,
    "IDENTITY": FunctionParser._identity,
}

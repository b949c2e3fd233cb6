"""Reading position over the tokens, and the small pieces every part of the grammar needs.

The parser is one class assembled from a mixin per statement area; all share the state kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn, TypeVar

from redial.tsql.ast import (
    Identifier,
    Literal,
    ObjectName,
    Source,
    Variable,
)
from redial.tsql.errors import TsqlNotSupported
from redial.tsql.lexer import (
    END,
    KEYWORD,
    NUMBER,
    QUOTED,
    STRING,
    VARIABLE,
    WORD,
    name_value,
    raise_at,
    string_value,
    tokenize,
)
from redial.tsql.parser import outside

T = TypeVar("T")

MAX_DEPTH = 128
"""Nested parentheses, subqueries, CASE, blocks: deeper is error 191.

The server's own limit depends on its stack; ours keeps parser and compiler (both recursive) below
Python's limit of 1,000 frames with room for the caller.
"""

MAX_CHAIN = 256
"""Operators in a row (``a + b + ...``) and set operations in a row: they make left-deep trees."""

MAX_INT = 2147483647


class TokenCursor:
    """The tokens of one batch and the index ``i`` of the next one.

    Words are compared through ``words`` (upper case; "" for names in brackets, strings and
    numbers), so ``[SELECT]`` is never taken for the keyword.
    depth: nesting so far; loops: WHILEs around; in_module, in_schema, return_value_allowed: where;
    statement_depth: 1 for a statement of the batch itself; statement_start: its first token, or the
    innermost one's; gotos: tokens of the labels jumped to;
    labels: declared so far, lower case.
    """

    def __init__(self, source: Source, quoted_identifier: bool = True) -> None:
        tokens = tokenize(source, quoted_identifier)
        self.source = source
        self.text = source.text
        self.kinds = tokens.kinds
        self.words = tokens.words
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.i = 0
        self.depth = 0
        self.loops = 0
        self.in_module = False
        self.in_schema = False
        self.return_value_allowed = False
        self.statement_depth = 0
        self.statement_start = 0
        self.first_in_batch = True
        self.gotos: list[int] = []
        self.labels: set[str] = set()

    # ------------------------------------------------------------------------------------ errors
    def error(self, number: int, *arguments: object, at: int | None = None) -> NoReturn:
        """Raise the numbered error at token ``at`` (default: the next one)."""
        raise_at(self.source, self.starts[self.i if at is None else at], number, *arguments)

    def unexpected(self) -> NoReturn:
        """Raise 102, 156 or 319 for the next token; at the end, "near" names the last token."""
        i = self.i
        construct = outside.construct(self.words, self.statement_start, i)
        if construct:
            self.not_supported(construct)
        if self.kinds[i] == END:
            while i and self.kinds[i] == END:
                i -= 1
            if self.kinds[i] == END:
                self.error(102, "")
        if self.words[i] == "WITH":
            self.error(319, at=i)
        self.error(156 if self.kinds[i] == KEYWORD else 102, self.near(i), at=i)

    def near(self, i: int) -> str:
        """Return what a message shows of token ``i``: strings and names without delimiters."""
        if self.kinds[i] == STRING:
            return string_value(self.raw(i))
        return name_value(self.raw(i)) if self.kinds[i] == QUOTED else self.raw(i)

    def at_label(self) -> bool:
        """Tell whether a label follows: a name there ends the statement, it is no alias."""
        return self.kinds[self.i] <= QUOTED and self.words[self.i + 1] == ":"

    def too_deep(self) -> NoReturn:
        """Raise 191 at the next token."""
        self.error(191)

    def not_supported(self, construct: str, at: int | None = None) -> NoReturn:
        """Refuse T-SQL that a server would take. construct: its name in the language."""
        offset = self.starts[self.i if at is None else at]
        raise TsqlNotSupported(construct, *self.source.line_column(offset))

    # ------------------------------------------------------------------------------------ tokens
    def raw(self, i: int) -> str:
        """Return the text of token ``i`` as written."""
        return self.text[self.starts[i] : self.ends[i]]

    def last_end(self) -> int:
        """Return the end offset of the token just read."""
        return self.ends[self.i - 1]

    def accept(self, word: str) -> bool:
        """Read ``word`` (a word or operator) if it is next."""
        if self.words[self.i] == word:
            self.i += 1
            return True
        return False

    def accept_all(self, *words: str) -> bool:
        """Read all ``words`` if they are next in this order, else none of them."""
        for ahead, word in enumerate(words):
            if self.words[min(self.i + ahead, len(self.words) - 1)] != word:
                return False
        self.i += len(words)
        return True

    def accept_any(self, *words: str) -> str:
        """Read one of ``words`` if next and return it, else return ""."""
        word = self.words[self.i]
        if word and word in words:
            self.i += 1
            return word
        return ""

    def expect(self, *words: str) -> None:
        """Read all ``words`` in this order or raise."""
        for word in words:
            if self.words[self.i] != word:
                self.unexpected()
            self.i += 1

    def expect_any(self, *words: str) -> str:
        """Read one of ``words`` and return it or raise."""
        return self.accept_any(*words) or self.unexpected()

    def at(self, *words: str) -> bool:
        """Tell whether ``words`` are next in this order."""
        return all(
            self.words[min(self.i + ahead, len(self.words) - 1)] == word
            for ahead, word in enumerate(words)
        )

    def list_of(self, parse: Callable[[], T]) -> list[T]:
        """Read one or more, separated by commas."""
        result = [parse()]
        while self.words[self.i] == ",":
            self.i += 1
            result.append(parse())
        return result

    def parenthesised(self, parse: Callable[[], T]) -> list[T]:
        """Read ``( .. , .. )``."""
        self.expect("(")
        result = self.list_of(parse)
        self.expect(")")
        return result

    # ------------------------------------------------------------------------------------- names
    def at_identifier(self) -> bool:
        """Tell whether a name (bare and not reserved, or delimited) is next."""
        return self.kinds[self.i] <= QUOTED

    def name(self) -> str:
        """Read one name and return it without delimiters, case kept."""
        i = self.i
        if self.kinds[i] > QUOTED:
            self.unexpected()
        self.i = i + 1
        raw = self.text[self.starts[i] : self.ends[i]]
        return raw if self.kinds[i] == WORD else name_value(raw)

    def identifier(self) -> Identifier:
        """Read one name as a node."""
        i = self.i
        text = self.name()
        return Identifier(self.starts[i], self.ends[i], text, self.kinds[i] == QUOTED)

    def name_list(self) -> list[str]:
        """Read ``(name, ..)``."""
        return self.parenthesised(self.name)

    def object_name(self, max_parts: int = 4, kind: str = "object") -> ObjectName:
        """Read a name of up to ``max_parts`` parts; parts before dots may be left out.

        kind: how error 117 calls it. Dots in front (``..t``) stand for parts that are not given.
        """
        first = self.i
        while self.words[self.i] == ".":
            self.i += 1
        parts = [self.name()]
        while self.words[self.i] == ".":
            self.i += 1
            while self.words[self.i] == ".":
                self.i += 1
                parts.append("")
            parts.append(self.name())
        if len(parts) > max_parts:
            text = self.text[self.starts[first] : self.last_end()]
            self.error(117, kind, text, max_parts - 1, at=first)
        return ObjectName(self.starts[first], self.last_end(), tuple(parts))

    def word(self) -> str:
        """Read any word, reserved or not, and return it in upper case."""
        i = self.i
        if self.kinds[i] not in (WORD, KEYWORD):
            self.unexpected()
        self.i = i + 1
        return self.words[i]

    def on_off(self) -> bool:
        """Read ON or OFF."""
        return self.expect_any("ON", "OFF") == "ON"

    # ---------------------------------------------------------------------- variables and literals
    def variable(self) -> Variable:
        """Read ``@name``."""
        i = self.i
        if self.kinds[i] != VARIABLE:
            self.unexpected()
        self.i = i + 1
        return Variable(self.starts[i], self.ends[i], self.raw(i))

    def string(self) -> Literal:
        """Read a string constant."""
        i = self.i
        if self.kinds[i] != STRING:
            self.unexpected()
        self.i = i + 1
        raw = self.raw(i)
        kind = "nstring" if raw[0] in "nN" else "string"
        return Literal(self.starts[i], self.ends[i], kind, string_value(raw))

    def string_or_variable(self) -> Literal | Variable:
        """Read a string constant or a variable."""
        return self.variable() if self.kinds[self.i] == VARIABLE else self.string()

    def whole_number(self) -> int:
        """Read an unsigned whole number."""
        i = self.i
        raw = self.raw(i)
        if self.kinds[i] != NUMBER or not raw.isdigit():
            self.unexpected()
        digits = raw.lstrip("0") or "0"
        if len(digits) > 38:
            self.error(1007, raw, at=i)
        self.i = i + 1
        return int(digits)

    def integer(self) -> Literal:
        """Read an unsigned whole number as a node."""
        i = self.i
        value = self.whole_number()
        kind = "int" if value <= MAX_INT else "decimal"
        return Literal(
            self.starts[i], self.ends[i], kind, value if kind == "int" else Decimal(value)
        )

    def integer_or_variable(self) -> Literal | Variable:
        """Read an unsigned whole number or a variable."""
        return self.variable() if self.kinds[self.i] == VARIABLE else self.integer()

    def name_or_variable(self) -> Identifier | Variable:
        """Read one name or a variable."""
        return self.variable() if self.kinds[self.i] == VARIABLE else self.identifier()

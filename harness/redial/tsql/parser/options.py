"""Option lists, as DDL has them: ``NAME``, ``NAME = value``, ``NAME = ON (..)``."""

from __future__ import annotations

from redial.tsql.ast import Identifier, Literal, ObjectName, Option, UnaryOp
from redial.tsql.lexer import BINARY, KEYWORD, NUMBER, QUOTED, STRING, WORD
from redial.tsql.parser.broker import BrokerParser

_UNITS = ("SECONDS", "SECOND", "MINUTES", "MINUTE", "HOURS", "DAYS", "KB", "MB", "GB", "TB", "%")


class OptionParser(BrokerParser):
    """Option lists."""

    def option_list(self) -> list[Option]:
        """Read ``(option, ..)``."""
        return self.parenthesised(self.option)

    def option(self) -> Option:
        """Read one option; its name may be of several words."""
        first = self.i
        words = [self.word()]
        while self.kinds[self.i] in (WORD, KEYWORD) and self.words[self.i] not in ("ON", "OFF"):
            words.append(self.word())
        option = Option(self.starts[first], self.last_end(), " ".join(words))
        self.option_value(option)
        return option

    def option_value(self, option: Option) -> None:
        """Read what follows an option's name."""
        if self.words[self.i] == "=" and self._at_inner_list():
            self.i += 1
        elif self.accept("="):
            option.value = self._option_scalar()
        elif self.words[self.i] in ("ON", "OFF"):
            option.value = self.on_off()
        elif self.kinds[self.i] in (NUMBER, STRING, BINARY):
            option.value = self.primary()
        if isinstance(option.value, Literal) and option.value.kind in ("int", "decimal"):
            option.unit = self.accept_any(*_UNITS) or None
        if self.words[self.i] == "(":
            option.arguments = self.option_list()
        option.end = self.last_end()

    def _at_inner_list(self) -> bool:
        """Tell ``= (NAME ..)``, a list as the option's value."""
        return self.words[self.i + 1] == "(" and self.kinds[self.i + 2] in (WORD, KEYWORD)

    def _option_scalar(self) -> bool | Literal | Identifier | ObjectName | UnaryOp:
        word = self.accept_any("ON", "OFF")
        if word:
            return word == "ON"
        i = self.i
        kind = self.kinds[i]
        if self.words[i] == "(":
            self.not_supported("an option value in parentheses")
        if kind == KEYWORD:
            text = self.raw(i)
            self.i = i + 1
            return Identifier(self.starts[i], self.ends[i], text)
        if kind <= QUOTED:
            name = self.object_name()
            if len(name.parts) > 1:
                return name
            return Identifier(name.pos, name.end, name.parts[0], kind == QUOTED)
        value = self.operand()
        if not isinstance(value, (Literal, UnaryOp)):
            self.unexpected()
        return value

    def owner(self) -> Identifier | None:
        """Read ``AUTHORIZATION name`` or nothing."""
        return self.identifier() if self.accept("AUTHORIZATION") else None

    def filegroup(self, word: str = "ON") -> str | None:
        """Read ``ON filegroup`` or nothing."""
        if not self.accept(word):
            return None
        if self.kinds[self.i] == STRING:
            return str(self.string().value)
        name = self.name()
        if self.words[self.i] == "(":
            self.not_supported("partition schemes")
        return name

    def if_exists(self) -> bool:
        """Read ``IF EXISTS`` or nothing."""
        return self.accept_all("IF", "EXISTS")

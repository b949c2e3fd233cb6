"""Tokens of an XQuery text. They are read one at a time: constructors read the text themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redial_broker.engine.errors import NotSupported
from redial_broker.exec.xml.xquery.static import Static

NC_NAME = r"[^\W\d][\w.\-·]*"
_TOKEN = re.compile(
    rf"""(?P<string>"(?:[^"]|"")*"|'(?:[^']|'')*')
      |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      |(?P<name>{NC_NAME}(?::(?!:)(?:{NC_NAME}|\*))?|\*:{NC_NAME})
      |(?P<sign>::|:=|//|\.\.|!=|<=|>=|<<|>>|[/.@()\[\]{{}},|=<>+*$;-])""",
    re.VERBOSE,
)
_BLANK = re.compile(r"\s+")
_ENTITY = re.compile(
    r"&(?:(?P<name>[A-Za-z]+);|#(?P<dec>\d+);|#x(?P<hex>[0-9A-Fa-f]+);"
    r"|(?P<part>[A-Za-z]+)(?P<bad>[^A-Za-z;])|(?P<number>#)|(?P<none>))"
)
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_MAX_LENGTH = 100_000
END = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an XQuery."""

    kind: str
    """String, number, name, sign or end."""
    text: str
    """As written."""
    start: int
    end: int
    """The place behind it."""


class Scanner:
    """A cursor over the text; ``token`` is the next one."""

    def __init__(self, text: str, static: Static) -> None:
        if len(text) > _MAX_LENGTH:
            raise NotSupported(f"an XQuery text of more than {_MAX_LENGTH} characters")
        self.text, self.static = text, static
        self.at = 0
        self._known: tuple[int, Token] | None = None

    @property
    def token(self) -> Token:
        """The next token, blanks and comments skipped."""
        if self._known is None or self._known[0] != self.at:
            self._known = (self.at, self._scan(self.at))
        return self._known[1]

    def after(self, token: Token) -> Token:
        """The token behind one."""
        return self._scan(token.end)

    def _scan(self, at: int) -> Token:
        at = self._skip(at)
        if at >= len(self.text):
            return Token("end", END, at, at)
        match = _TOKEN.match(self.text, at)
        if match is None:
            if self.text[at] in "\"'":
                raise self.static.error(2274, self.text.count("\n", 0, at) + 1)
            raise self.static.error(2209, self.text[at])
        return Token(match.lastgroup or "", match[0], at, match.end())

    def _skip(self, at: int) -> int:
        while True:
            blank = _BLANK.match(self.text, at)
            if blank:
                at = blank.end()
            if not self.text.startswith("(:", at):
                return at
            at = self._comment(at)

    def _comment(self, at: int) -> int:
        start, depth = at, 0
        while at < len(self.text):
            if self.text.startswith("(:", at):
                depth, at = depth + 1, at + 2
            elif self.text.startswith(":)", at):
                depth, at = depth - 1, at + 2
                if not depth:
                    return at
            else:
                at += 1
        raise self.static.error(2340, self.text.count("\n", 0, start) + 1)

    def next(self) -> Token:
        """Take the next token."""
        token = self.token
        self.at = token.end
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is that sign or word."""
        if self.token.text == text and self.token.kind in {"sign", "name"}:
            self.at = self.token.end
            return True
        return False

    def expect(self, text: str) -> None:
        """Take that sign or word, or raise 9303."""
        if not self.accept(text):
            raise self.static.error(9303, self.token.text, text)

    def syntax(self) -> Exception:
        """2209 for the next token."""
        return self.static.error(2209, self.token.text)

    def word(self, *words: str) -> bool:
        """Whether the next token is one of these names."""
        return self.token.kind == "name" and self.token.text in words

    def variable(self) -> str:
        """Read ``$name``."""
        if not self.accept("$"):
            raise self.static.error(2241)
        token = self.next()
        if token.kind != "name":
            raise self.static.error(2223, token.text)
        if ":" in token.text:
            raise self.static.error(9323)
        return token.text

    def string(self) -> str:
        """Read a string constant; 2225 otherwise."""
        token = self.next()
        if token.kind != "string":
            raise self.static.error(2225)
        return self.literal(token)

    def literal(self, token: Token) -> str:
        """The value of a string token."""
        quote = token.text[0]
        return self.entities(token.text[1:-1].replace(quote * 2, quote))

    def entities(self, text: str) -> str:
        """Entity and character references replaced: 2282, 2283 or 2285 for what is none."""
        if "&" not in text:
            return text

        def fill(match: re.Match[str]) -> str:
            if match["name"]:
                if match["name"] not in _ENTITIES:
                    raise self.static.error(2282)
                return _ENTITIES[match["name"]]
            if match["dec"]:
                return chr(int(match["dec"]))
            if match["hex"]:
                return chr(int(match["hex"], 16))
            if match["bad"]:
                raise self.static.error(2283, match["bad"])
            raise self.static.error(2285 if match["number"] else 2282)

        return _ENTITY.sub(fill, text)

"""Cuts T-SQL text into tokens with one compiled expression.

Tokens live in parallel lists, not objects: a procedure is a few hundred tokens and is parsed on
every first use, so the parser reads ``words[i]`` and ``kinds[i]`` directly.
"""

from __future__ import annotations

import re
from typing import NoReturn

from redial.tsql.ast import Source
from redial.tsql.errors import MESSAGES, TsqlSyntaxError
from redial.tsql.keywords import GLOBAL_VARIABLES, RESERVED

WORD, QUOTED, KEYWORD, VARIABLE, GLOBAL, STRING, NUMBER, BINARY, MONEY, OPERATOR, END = range(11)
"""Token kinds. WORD and QUOTED are the identifiers; KEYWORD is a reserved word; END closes."""

PADDING = 4
"""END tokens behind the last one, so that looking ahead needs no bounds check."""

_BLANK = r"[\x00-\x20\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000]"
"""White space between tokens; beyond ASCII it is the server's own list (F-290)."""

# Repetitions inside a token never give back (*+): a megabyte of literal costs no stack.
_TOKEN = re.compile(
    r"""
    BLANK*+ (?: --[^\n]*+ BLANK*+ )*+
    (?:
      ( [nN]? ' [^']*+ (?: '' [^']*+ )*+ ' )                        # 1 string
    | ( @ [\w@$\#]* )                                               # 2 variable
    | ( 0[xX] [0-9a-fA-F]*+ (?: \\\r?\n [0-9a-fA-F]*+ )*+ )        # 3 binary
    | ( (?: [0-9]+ \.? [0-9]* | \. [0-9]+ ) (?: [eE] [+-]? [0-9]* )? )          # 4 number
    | ( [^\W\d] [\w@$\#]* | \#\#? [\w@$\#]* | \$ [A-Za-z] \w* )     # 5 word
    | ( \[ [^\]]*+ (?: \]\] [^\]]*+ )*+ \] )                        # 6 bracketed name
    | ( " [^"]*+ (?: "" [^"]*+ )*+ " )                              # 7 double quotes
    | ( <> | != | <= | >= | !< | !> | [-+*/%&|^] = | :: | /\* | [-+*/%&|^~=<>(),.;:{}] )  # 8
    | ( [$\xa2-\xa5\u09f2\u09f3\u0e3f\u17db\u20a0-\u20c0\ufdfc\ufe69\uff04\uffe0\uffe1\uffe5\uffe6]
        (?: [+-] (?=[.]?[0-9]) | BLANK*+ (?=[0-9]) )? [0-9]* \.? [0-9]* )   # 9 money
    | ( \Z )                                                        # 10 the end
    | ( . )                                                         # 11 nothing we know
    )
    """.replace("BLANK", _BLANK),
    re.VERBOSE | re.DOTALL,
)
COMMENT_MARK = re.compile(r"/\*|\*/")
"""Where a comment opens or closes: comments nest."""

_KINDS = (END, STRING, VARIABLE, BINARY, NUMBER, WORD, QUOTED, QUOTED, OPERATOR, MONEY, END, END)
_GROUP_WORD, _GROUP_DOUBLE, _GROUP_OPERATOR, _GROUP_END, _GROUP_UNKNOWN = 5, 7, 8, 10, 11

MAX_NAME = 128
"""Characters of an identifier (Database Identifiers page)."""

MAX_PRECISION = 38
"""Digits of a decimal or numeric ("decimal and numeric" page)."""


class Tokens:
    """The tokens of one batch.

    kinds: kind per token; words: upper-case text of words and operators, "" for all others;
    starts, ends: offsets. PADDING END tokens follow the last one.
    """

    __slots__ = ("ends", "kinds", "source", "starts", "words")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds: list[int] = []
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []


def tokenize(source: Source, quoted_identifier: bool = True) -> Tokens:
    """Return the tokens of ``source``.

    quoted_identifier: text in double quotes is a name (ON) or a string (OFF).
    Raises TsqlSyntaxError 102, 103, 105, 113, 1038.
    """
    tokens = Tokens(source)
    position = 0
    while position >= 0:
        position = _scan(tokens, position, quoted_identifier)
    length = len(source.text)
    tokens.kinds += [END] * PADDING
    tokens.words += [""] * PADDING
    tokens.starts += [length] * PADDING
    tokens.ends += [length] * PADDING
    return tokens


def _scan(tokens: Tokens, position: int, quoted_identifier: bool) -> int:
    """Read tokens from ``position`` up to a block comment or the end.

    Returns where to go on behind the comment, -1 at the end. Comments nest, which a regular
    expression cannot follow; hence the restart.
    """
    text = tokens.source.text
    add_kind, add_word = tokens.kinds.append, tokens.words.append
    add_start, add_end = tokens.starts.append, tokens.ends.append
    for match in _TOKEN.finditer(text, position):
        group = match.lastindex
        # Every alternative is a group, so there is a last one.
        start, end = match.span(group)  # type: ignore[arg-type]
        kind = _KINDS[group]  # type: ignore[index]
        word = ""
        if group == _GROUP_WORD:
            word = text[start:end].upper()
            if word in RESERVED:
                kind = KEYWORD
            elif end - start > MAX_NAME:
                raise_at(tokens.source, start, 103, "identifier", text[start:end], MAX_NAME)
        elif group == _GROUP_OPERATOR:
            word = text[start:end]
            if word == "/*":
                return _end_of_comment(tokens.source, start)
        elif kind == VARIABLE:
            if text[start:end].upper() in GLOBAL_VARIABLES:
                kind = GLOBAL
            elif end - start > MAX_NAME:
                raise_at(tokens.source, start, 103, "identifier", text[start:end], MAX_NAME)
        elif kind == QUOTED:
            if group == _GROUP_DOUBLE and not quoted_identifier:
                kind = STRING
            else:
                _check_name(tokens.source, start, end)
        elif group == _GROUP_END:
            return -1
        elif group == _GROUP_UNKNOWN:
            _unknown(tokens.source, start)
        add_kind(kind)
        add_word(word)
        add_start(start)
        add_end(end)
    return -1


def raise_at(source: Source, offset: int, number: int, *arguments: object) -> NoReturn:
    """Raise the numbered error at an offset."""
    text = MESSAGES[number]
    line, column = source.line_column(offset)
    raise TsqlSyntaxError(number, text % arguments if arguments else text, line, column)


def name_value(raw: str) -> str:
    """Return the name behind the text of a WORD or QUOTED token."""
    first = raw[0]
    if first == "[":
        return raw[1:-1].replace("]]", "]")
    if first == '"':
        return raw[1:-1].replace('""', '"')
    return raw


def string_value(raw: str) -> str:
    """Return the characters a STRING token stands for.

    A backslash before a line end continues the string (Backslash (Line Continuation) page).
    """
    if raw[0] == '"':
        value = raw[1:-1].replace('""', '"')
    else:
        value = raw[raw.index("'") + 1 : -1].replace("''", "'")
    if "\\" in value:
        value = value.replace("\\\r\n", "").replace("\\\n", "")
    return value


def binary_value(raw: str) -> bytes:
    """Return the bytes of a BINARY token; an odd number of digits gets a zero in front."""
    digits = raw[2:].replace("\\", "").replace("\r", "").replace("\n", "")
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def _check_name(source: Source, start: int, end: int) -> None:
    name = name_value(source.text[start:end])
    if not name:
        raise_at(source, start, 1038)
    if len(name) > MAX_NAME:
        raise_at(source, start, 103, "identifier", name[:MAX_NAME], MAX_NAME)


def _end_of_comment(source: Source, start: int) -> int:
    depth, position = 1, start + 2
    while depth:
        mark = COMMENT_MARK.search(source.text, position)
        if mark is None:
            raise_at(source, start, 113)
        depth += 1 if mark.group() == "/*" else -1
        position = mark.end()
    return position


def _unknown(source: Source, start: int) -> NoReturn:
    character = source.text[start]
    if character in "'[\"":
        raise_at(source, start, 105, source.text[start + 1 :])
    raise_at(source, start, 102, character)

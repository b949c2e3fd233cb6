"""Who asks for a key by its word instead of a trait: files that a new key would have to touch.

Used by tests/test_new_key.py. A configuration may of course name the key it wants (``{"key": "pool"}``,
``Stage("pool")``): that is no question.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from redial.config import Config
from redial.config.keys import BASES, FOLDER
from redial.config.variants import merged
from redial.paths import SQL
from redial.render import render

ABOUT_A_KEY = re.compile(r"key\b|keys\b|\bway\b", re.IGNORECASE)
"""In what is compared: text without it is about something else that has such a word."""
ASKS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
MANY = 3
"""So many keys in one list are a list of keys."""

JINJA = re.compile(r"\{[%{].*?[%}]\}|\{# when: .*? #\}", re.DOTALL)


def in_python(text: str, words: Iterable[str]) -> list[str]:
    """Lines that ask which key it is: ``key == "pool"``, ``in ("spid", ..)``, ``{"pool": ..}.get(key)``
    or ``[key]``, ``match key: case "pool"``, ``Key.POOL``; or that list keys by hand.
    """
    known = frozenset(words)
    return [
        f"{node.lineno}: {ast.unparse(node)[:90]}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.expr) and _asks(node, known)
    ] + [
        f"{node.lineno}: match {ast.unparse(node.subject)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Match) and _cases(node) & known and _about(node.subject)
    ]


def in_template(text: str, words: Iterable[str]) -> list[str]:
    """Lines that compare ``conversation.key``, or have a key's word in their Jinja."""
    quoted = "|".join(re.escape(word) for word in words)
    asks = re.compile(
        rf"conversation\.key(?:\.value)?\s*(?:==|!=|in\b|not\b|is\b)|[\"'](?:{quoted})[\"']"
    )
    return [
        f"{text.count(chr(10), 0, found.start()) + 1}: {found[0][:90]}"
        for found in JINJA.finditer(text)
        if asks.search(found[0])
    ]


def of_the_keys(path: Path) -> bool:
    """Whether a template is a key's own file, or a base of several."""
    return path.parent.name in (FOLDER, BASES)


def _asks(node: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(node, ast.Compare) and any(isinstance(op, ASKS) for op in node.ops):
        sides = [node.left, *node.comparators]
        named = [side for side in sides if _listed(side) & known]
        return bool(named) and any(_about(side) for side in sides if side not in named)
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) in {f"Key.{word.upper()}" for word in known}
    if isinstance(node, ast.List | ast.Set | ast.Tuple | ast.Dict):
        return len(_listed(node) & known) >= MANY
    table, place = _looked_up(node)
    return isinstance(table, ast.Dict) and bool(_listed(table) & known) and _about(place)


def _about(node: ast.expr | None) -> bool:
    return node is not None and bool(ABOUT_A_KEY.search(ast.unparse(node)))


def _listed(node: ast.expr) -> set[str]:
    """Texts an expression is, or lists: in pairs too, and as a dictionary's keys."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Key":
        return _listed(node.args[0])
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return {text for part in parts if part is not None for text in _listed(part)}


def _looked_up(node: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """What is asked, by ``get`` or in brackets, and for what."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (node.func.value, node.args[0]) if node.func.attr == "get" else (None, None)
    return None, None


def _cases(node: ast.Match) -> set[str]:
    values = [each for case in node.cases for each in ast.walk(case.pattern)]
    return {
        each.value.value
        for each in values
        if isinstance(each, ast.MatchValue)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
    }


def unreached(pairs: Iterable[tuple[str, str]], root: Path = SQL) -> dict[str, set[str]]:
    """Keys whose T-SQL calls a procedure of ours that is not installed with it."""
    found: dict[str, set[str]] = {}
    for key, recycle in pairs:
        data = merged({"conversation": {"key": key, "recycle": recycle}})
        code = {
            name: re.sub(r"/\*.*?\*/|N?'(?:[^']|'')*'", " ", text, flags=re.S)
            for name, text in render(Config.model_validate(data), root).items()
            if re.match(r"\d\d_.*\.(procedure|trigger)\.sql$", name)
        }
        made = set(re.findall(r"CREATE OR ALTER PROCEDURE \S+?\[(\w+)\]", "".join(code.values())))
        called = set(
            re.findall(r"EXECUTE (?:@\w+ = )?\[combo\]\.\[(\w+)\]", "".join(code.values()))
        )
        if missing := called - made:
            found[key] = found.get(key, set()) | missing
    return found

"""ScriptDom: Microsoft's parser, its trees, and its canonical re-print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SCRIPTDOM = "Microsoft.SqlServer.TransactSql.ScriptDom"
POSITIONS = "StartLine StartColumn StartOffset FragmentLength FirstTokenIndex LastTokenIndex"
POSITION_PROPERTIES = frozenset(POSITIONS.split())


class Dom:
    """One parser of one version (100 to 150); ``quoted`` is QUOTED_IDENTIFIER."""

    def __init__(self, version: int, quoted: bool) -> None:
        import Microsoft.SqlServer.TransactSql.ScriptDom as scriptdom
        import System
        from System.IO import StringReader, StringWriter

        self.types, self.reader, self.writer = scriptdom, StringReader, StringWriter
        self.parser = getattr(scriptdom, f"TSql{version}Parser")(quoted)
        self.version = version
        self._properties: dict[str, list[tuple[Any, str]]] = {}
        self._fragment = System.Type.GetType(f"{SCRIPTDOM}.TSqlFragment, {SCRIPTDOM}")

    def parse(
        self, text: str, offset: int = 0, line: int = 1
    ) -> tuple[Any, list[tuple[int, int, int, str]]]:
        """Tree of one batch that begins at ``offset``, ``line``; errors as line, column, number."""
        tree, errors = self.parser.Parse(self.reader(text), None, offset, line, 1)
        return tree, [(e.Line, e.Column, e.Number, " ".join(e.Message.split())) for e in errors]

    def kind(self, fragment: Any) -> str:
        """Class name of a fragment."""
        return fragment.GetType().Name

    def children(self, fragment: Any) -> Iterator[tuple[str, str, Any]]:
        """Properties that are set: name, ``one``, ``many`` or ``value``, and what it holds."""
        kind = fragment.GetType()
        if kind.FullName not in self._properties:
            self._properties[kind.FullName] = self._reflect(kind)
        for declared, how in self._properties[kind.FullName]:
            value = declared.GetValue(fragment, None)
            if value is not None:
                yield declared.Name, how, value

    def _reflect(self, kind: Any) -> list[tuple[Any, str]]:
        """Properties of a .NET class and what they hold (cached by the caller, it is slow)."""
        found = []
        for declared in kind.GetProperties():
            if declared.GetIndexParameters().Length or declared.Name == "ScriptTokenStream":
                continue
            held = declared.PropertyType
            if self._fragment.IsAssignableFrom(held):
                found.append((declared, "one"))
            elif held.IsGenericType and self._fragment.IsAssignableFrom(
                held.GetGenericArguments()[0]
            ):
                found.append((declared, "many"))
            else:
                found.append((declared, "value"))
        return found

    def statements(self, fragment: Any, depth: int = 0) -> Iterator[tuple[int, Any]]:
        """Every statement below ``fragment``, outermost first, with its depth."""
        own = isinstance(fragment, self.types.TSqlStatement)
        if own:
            yield depth, fragment
        for _, how, value in self.children(fragment):
            if how == "value":
                continue
            for child in [value] if how == "one" else value:
                yield from self.statements(child, depth + own)

    def as_json(self, fragment: Any) -> dict[str, Any]:
        """The whole tree as plain dictionaries."""
        node: dict[str, Any] = {
            "kind": self.kind(fragment),
            "line": fragment.StartLine,
            "col": fragment.StartColumn,
            "offset": fragment.StartOffset,
            "length": fragment.FragmentLength,
        }
        for name, how, value in self.children(fragment):
            if how == "one":
                node[name] = self.as_json(value)
            elif how == "many":
                node[name] = [self.as_json(child) for child in value]
            elif name not in POSITION_PROPERTIES:
                node[name] = value if isinstance(value, str | int | float | bool) else str(value)
        return node

    def print_canonical(self, fragment: Any) -> str:
        """ScriptDom's own formatting of a tree."""
        options = self.types.SqlScriptGeneratorOptions()
        options.KeywordCasing = self.types.KeywordCasing.Uppercase
        generator = getattr(self.types, f"Sql{self.version}ScriptGenerator")(options)
        out = self.writer()
        generator.GenerateScript(fragment, out)
        return out.ToString()

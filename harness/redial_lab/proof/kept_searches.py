"""What each search for a mutant gave, kept beside the register, so that hunting goes on where it
stopped and only what changed is searched again; and the digest of the engine, for all kept results.

A result counts for the mutant's text, its case and what is installed there, and for the source of
the broker, the explorer and the claims: their comments, docstrings and layout apart, and wherever
their code stands (``code``).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redial.paths import EVIDENCE, SOURCES

if TYPE_CHECKING:
    Documented = TypeVar("Documented", ast.Module, ast.FunctionDef, ast.ClassDef)
    Kept = str | list[Any]
    """A search as the file has it: ``Search``'s fields without ran, or the key alone."""

KEPT = EVIDENCE / "found-mutants.json"
CODE = (
    "redial_broker/engine",
    "redial_broker/exec",
    "redial_broker/ssb",
    "redial_broker/instance",
    "redial_broker/catalog",
    "redial_lab/explore",
    "redial/tsql",
)
"""Folders of what runs in a search."""
CHECKS = (
    "audit_setups",
    "claims",
    "comparators",
    "matrix",
    "places",
    "setups",
    "strategies",
    "witnesses",
)
"""Modules of harness/redial_lab/proof that decide what a search finds."""
HUNTS = ("case_scenario", "mutant_search", "mutants", "outcomes", "statements_reached")
"""Those that decide besides whether a search has found a mutant."""
UNKNOWN_ENGINE = "unknown"
"""The engine of a result that was kept without one."""


def digest(*parts: str) -> str:
    """A short one of some texts."""
    return blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()


def hunt_digest() -> str:
    """One of the engine, with what hunts for mutants."""
    return engine_digest(SOURCES, (*CHECKS, *HUNTS))


@cache
def engine_digest(root: Path = SOURCES, checks: tuple[str, ...] = CHECKS) -> str:
    """One of the engine: all code that decides what a search finds. Raises FileNotFoundError for a
    folder that is no more, which would leave its code out.
    """
    files = [root / "redial_lab" / "proof" / f"{name}.py" for name in checks]
    for folder in CODE:
        found = list((root / folder).rglob("*.py"))
        if not found:
            raise FileNotFoundError(f"{root / folder}: no Python. Next: mend CODE in {__name__}")
        files += found
    return code(files, root)


def code(files: Iterable[Path], root: Path) -> str:
    """One of what these files do, wherever it stands: files and modules can be renamed and merged,
    and definitions moved between them. root: of the packages that import each other.
    """
    imported: list[tuple[Path, str, str]] = []
    defined: dict[str, dict[Path, str]] = {}
    parts = []
    for path in files:
        tree = ast.parse(path.read_text("utf-8"))
        imported += _imported(tree, root)
        for node in _Bare(root).visit(tree).body:
            parts.append(written(node))
            for name in _defines(node):
                defined.setdefault(name, {})[path] = digest(parts[-1])
    for path, name, alias in imported:
        # Which of several of one name is meant: by what it is, not by where.
        meant = defined.get(name, {})
        if len(meant) > 1 or alias != name:
            parts.append(f"{alias} is {name} {meant.get(path, '') if len(meant) > 1 else ''}")
    return digest(*sorted(parts))


def bare(source: str) -> str:
    """Python without comments, docstrings, imports, layout and the names of our modules."""
    return written(_Bare(SOURCES).visit(ast.parse(source)))


def written(node: object) -> str:
    """A tree as text, the same by every Python: ``ast.dump`` writes empty fields or leaves them
    out, and a new Python has new ones.
    """
    if isinstance(node, list):
        return f"[{','.join(map(written, node))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    fields = [
        f"{name}={written(value)}"
        for name, value in ast.iter_fields(node)
        if not (value is None or value == []) or isinstance(node, ast.Constant)
    ]
    return f"{type(node).__name__}({','.join(fields)})"


class _Bare(ast.NodeTransformer):
    """Takes away what says nothing of what code does: names of modules, texts, types, and what
    only makes sure (``assert``). root: of the packages.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: set[str] = set()

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """The modules it imports are known first: code may use them in any order."""
        for each in ast.walk(node):
            if isinstance(each, ast.Import):
                self.modules |= {
                    name.asname or name.name
                    for name in each.names
                    if self.root.joinpath(*name.name.split(".")).with_suffix(".py").exists()
                    or self.root.joinpath(*name.name.split(".")).is_dir()
                }
            if isinstance(each, ast.ImportFrom) and each.module and not each.level:
                folder = self.root.joinpath(*each.module.split("."))
                self.modules |= {
                    name.asname or name.name
                    for name in each.names
                    if (folder / f"{name.name}.py").exists() or (folder / name.name).is_dir()
                }
        return self._undocumented(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._undocumented(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """A field of a class is one by its annotation, whatever it says; only ClassVar is none."""
        if not ast.unparse(node.annotation).startswith("ClassVar"):
            node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """``if TYPE_CHECKING`` never runs."""
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``cast(type, value)`` is the value."""
        if ast.unparse(node.func) == "cast" and len(node.args) == 2:
            return self.generic_visit(node.args[1])
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._undocumented(node)

    def _undocumented(self, node: Documented) -> Documented:
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = node.body[1:]
        return cast("Documented", self.generic_visit(node))

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``module.name`` is ``name``."""
        if _dotted(node.value) in self.modules:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A text that names a module, of a logger say."""
        if isinstance(node.value, str) and _MODULE.fullmatch(node.value):
            return ast.Constant("module")
        return node


_MODULE = re.compile(r"(?:redial|redial_broker|redial_lab)(?:\.\w+)+")


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` as text; empty for what is no chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _defines(node: ast.stmt) -> list[str]:
    """Names a statement of a module gives."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _imported(tree: ast.Module, root: Path) -> list[tuple[Path, str, str]]:
    """(file, name, the name it is given here) of what a module imports of ours."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        base = root.joinpath(*node.module.split("."))
        file = base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"
        found += [
            (file, name.name, name.asname or name.name)
            for name in node.names
            if file.exists()
            and not (base / f"{name.name}.py").exists()
            and not (base / name.name).is_dir()
        ]
    return found


@dataclass(frozen=True, slots=True)
class Search:
    """One search for one mutant."""

    key: str
    """What it counts for: the digest of the engine, then that of the text, joined by a hyphen. An
    older file has one of both, which says neither."""
    ran: bool = True
    """False when the case never comes to the changed statement."""
    claim: str = ""
    """'' when it was not found."""
    states: int = 0
    transitions: int = 0
    steps: int = 0
    """Of its trace as it was met."""
    seconds: float = 0.0
    """Of a processor, its installation included."""

    @property
    def engine(self) -> str:
        """The engine that found it."""
        return self.key.partition("-")[0] if "-" in self.key else UNKNOWN_ENGINE

    @property
    def text(self) -> str:
        """The text it was found in; '' where nothing says."""
        return self.key.partition("-")[2]


class Remembered:
    """Results by mutant and case. path: None remembers nothing beyond this process. Raises
    ValueError for a file that is none of ours.
    """

    def __init__(self, path: Path | None = KEPT) -> None:
        self.path = path
        self.found: dict[str, dict[str, Search]] = {}
        if path is not None and path.exists():
            try:
                for name, searches in json.loads(path.read_text("utf-8")).items():
                    self.found[name] = {case: _read(row) for case, row in searches.items()}
            except (AttributeError, TypeError, json.JSONDecodeError) as error:
                raise ValueError(
                    f"{path}: not what `invoke mutants` writes ({error}). Next: "
                    "remove it, all is searched anew"
                ) from None

    def search(self, name: str, case: str, key: str) -> Search | None:
        """What a search gave, where it still counts."""
        known = self.found.get(name, {}).get(case)
        return known if known is not None and known.key == key else None

    def finder(self, name: str) -> str:
        """The case that found a mutant when it was last hunted; ''."""
        return next((case for case, each in self.found.get(name, {}).items() if each.claim), "")

    def keep(self, name: str, searches: dict[str, Search]) -> None:
        """What a hunt gave."""
        self.found[name] = searches

    def write(self, names: Iterable[str]) -> None:
        """The file: one line to a mutant, in this order; others are left out."""
        assert self.path is not None, "what is remembered in this process only has no file"
        lines = []
        for name in names:
            if name in self.found:
                searches = {case: _row(each) for case, each in self.found[name].items()}
                lines.append(f"{json.dumps(name)}: {json.dumps(searches, separators=(',', ':'))}")
        part = self.path.with_suffix(".part")
        part.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        part.replace(self.path)


def _row(search: Search) -> Kept:
    """As short as can be: most are cases that never come to the statement."""
    return (
        list(asdict(search).values())[:1] + list(asdict(search).values())[2:]
        if search.ran
        else search.key
    )


def _read(row: Kept) -> Search:
    return Search(row, False) if isinstance(row, str) else Search(row[0], True, *row[1:])

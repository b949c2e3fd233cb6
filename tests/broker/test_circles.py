"""No circle of modules inside the embedded broker: every arrow between two of its modules goes down.

All imports of its own modules count, those inside a function too: a late import is an arrow as
well, only one that is hard to see. What stands below ``if TYPE_CHECKING:`` is for a type checker
and does not run; it is left out. ``from package import module`` is an arrow to the module; a name
taken from a package is an arrow to its ``__init__``. That importing a module also runs the
``__init__`` of its parents is not an arrow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import redial_broker

BROKER = Path(redial_broker.__file__).parent


def modules_below(package: Path) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_that_run(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import below a node, at whatever depth, except for a type checker alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from imports_that_run(ast.Module([other], []))
        else:
            yield from imports_that_run(child)


def arrows(package: Path) -> dict[str, set[str]]:
    """The modules of a package that each of its modules imports."""
    modules = modules_below(package)
    graph = {}
    for name, path in modules.items():
        own = name if path.name == "__init__.py" else name.rpartition(".")[0]
        known: set[str] = set()
        for found in imports_that_run(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(found, ast.Import):
                known |= {alias.name for alias in found.names}
                continue
            base = found.module or ""
            if found.level:
                parents = own.split(".")[: len(own.split(".")) - found.level + 1]
                base = ".".join([*parents, base] if base else parents)
            for alias in found.names:
                whole = f"{base}.{alias.name}"
                known.add(whole if whole in modules else base)
        graph[name] = {other for other in known if other in modules and other != name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach one another, each sorted (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        path.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in path:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            start = path.index(node)
            members, path[start:] = sorted(path[start:]), []
            if len(members) > 1:
                found.append(members)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def told(found: list[list[str]], graph: dict[str, set[str]]) -> str:
    """The circles with the arrows inside each, for the message of a failure."""
    lines = []
    for members in found:
        lines.append(f"a circle of {len(members)} modules:")
        for name in members:
            lines.append(f"  {name} -> {', '.join(sorted(graph[name] & set(members)))}")
    return "\n".join(lines)


def test_no_circle_of_modules_in_the_broker():
    graph = arrows(BROKER)
    assert len(graph) > 300, "the broker's modules were not found"
    assert sum(map(len, graph.values())) > 1000, "their imports were not found"
    found = circles(graph)
    assert not found, told(found, graph)


# ---------------------------------------------------------------------- the finder itself
def package_of(tmp_path: Path, **sources: str) -> Path:
    """A made-up package ``made`` with these modules; ``a__b`` is module b of the package a."""
    for name, text in sources.items():
        path = tmp_path / "made" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for folder in [tmp_path / "made", *(p for p in (tmp_path / "made").rglob("*") if p.is_dir())]:
        (folder / "__init__.py").touch()
    return tmp_path / "made"


def found_in(package: Path) -> list[list[str]]:
    return circles(arrows(package))


def test_the_finder_sees_a_circle_of_late_imports(tmp_path):
    late = "def f():\n    if f:\n        from made.{} import x\n"
    package = package_of(
        tmp_path, one="import made.two", two=late.format("three"), three=late.format("one"), four=""
    )
    assert found_in(package) == [["made.one", "made.three", "made.two"]]


def test_the_finder_tells_two_circles_apart(tmp_path):
    package = package_of(
        tmp_path,
        a="from made import b",
        b="from . import a, c",
        c="from made.d import x",
        d="from .c import y",
    )
    assert found_in(package) == [["made.a", "made.b"], ["made.c", "made.d"]]


def test_what_only_a_type_checker_reads_is_no_arrow(tmp_path):
    guard = (
        "import typing\nif typing.TYPE_CHECKING:\n    import made.{}\nelse:\n    import made.{}\n"
    )
    package = package_of(
        tmp_path, one=guard.format("two", "three"), two="import made.one", three=""
    )
    assert found_in(package) == []
    package = package_of(tmp_path, three="import made.one")
    assert found_in(package) == [["made.one", "made.three"]]


def test_a_name_of_a_package_is_an_arrow_to_it_but_a_module_in_it_is_not(tmp_path):
    package = package_of(tmp_path, room__low="", room__high="from made.room import low")
    (package / "room" / "__init__.py").write_text("from made.room.high import x\n")
    assert found_in(package) == []
    (package / "room" / "low.py").write_text("from made.room import x\n")
    assert found_in(package) == [["made.room", "made.room.high", "made.room.low"]]

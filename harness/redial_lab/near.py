"""Which tests are near a change: those of its name, those that use it, those that use what uses it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

MOST = 3
"""Test files a changed file has at most: the nearest."""
PACKAGES = ("redial", "redial_broker", "redial_lab", "pyspark_servicebroker", "tests")
COMMON: Mapping[str, tuple[str, ...]] = {
    "sql/templates/monitor/looks/": (
        "product/sql/test_usp_Health.py",
        "product/findings/test_quiet.py",
    ),
    "sql/templates/key_bases/": (
        "product/render/test_key_parts.py",
        "product/sql/test_usp_Send.py",
    ),
    "sql/templates/keys/": ("product/render/test_key_parts.py", "product/sql/test_usp_Send.py"),
}
"""Tests of templates whose names are words of every day: of the folder they are in."""
FOLDERS: Mapping[str, tuple[str, ...]] = {
    "sql/templates/": ("product/render/test_renderer.py",),
    "sql/configs/": ("product/config/test_load.py",),
    "sql/generated/": ("product/render/test_renderer.py",),
    "sql/examples/": ("product/examples/test_stories.py",),
    "sql/probes/": ("product/sql/test_probes.py",),
    "sql/comparators/": ("lab/comparators/test_lookup_hints.py",),
    "sql/mutants/": ("lab/mutants/test_caught.py",),
    "evidence/surface/": ("lab/coverage/test_page.py",),
    "docs/": ("test_links.py",),
}
"""Tests of files whose names no test has: of the first of these folders a file is in."""
LISTS = ("tests/product/security/test_roles.py", "tests/product/security/test_fixed_roles.py")
"""Tests that name every object: they are near none."""
RULES = "tests/product/combos/test_rules_of_configs.py"
"""Of every template: what a procedure must not be, too long say."""
FINDINGS = "sql/templates/monitor/findings/"
SCENARIOS = "tests/product/findings/test_findings.py"
_OBJECT = re.compile(r"(?:\d+_)?(\w+)\.")
_WORD = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Near:
    """A changed file and its tests."""

    changed: str
    tests: tuple[str, ...]
    """Paths of test files, the nearest first; none: nothing tests it."""
    left: int = 0
    """How many more are as near."""
    only: str = ""
    """Of these, the tests pytest's -k takes by this; empty: all."""
    own: bool = True
    """Whether they know the file, or only its folder."""


class Suite:
    """The tests of a clone, and what they use."""

    def __init__(self, root: Path) -> None:
        """root: of the clone."""
        self._root = root

    def near(self, changed: Iterable[str]) -> list[Near]:
        """The tests of each file. changed: paths from the root, with slashes."""
        return [self._near(one) for one in changed]

    def _near(self, changed: str) -> Near:
        path = PurePosixPath(changed)
        if changed in self._texts:
            return Near(changed, (changed,))
        id = path.name.partition(".")[0]
        if changed.startswith(FINDINGS) and f'"{id}' in self._scenarios:
            return Near(changed, (SCENARIOS,), only=id)
        if path.suffix == ".py" and path.parts[0] in ("harness", "tests"):
            found = self._of_module(path)
        elif changed.startswith("sql/templates/"):
            found = _search(changed, self._wholes, self._of_object)
        else:
            found = self._called(path.stem.lower())
            found += _of_first(FOLDERS, changed) if path.suffix == ".md" else []
            found += self._naming(path.name)
        every = [*dict.fromkeys(found or self._of_folder(path))]
        rules = (RULES,) if changed.startswith("sql/templates/") else ()
        return Near(changed, (*every[:MOST], *rules), len(every[MOST:]), own=bool(found))

    @cached_property
    def _scenarios(self) -> str:
        """The text of the scenarios of findings."""
        folder = (self._root / SCENARIOS).parent
        return "".join(one.read_text("utf-8") for one in sorted(folder.glob("faults_of_*.py")))

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Every test file, by its path."""
        found = sorted((self._root / "tests").rglob("test_*.py"))
        return {one.relative_to(self._root).as_posix(): one.read_text("utf-8") for one in found}

    @cached_property
    def _words(self) -> dict[str, Counter[str]]:
        """How often each test file has a word."""
        words: dict[str, Counter[str]] = {}
        for path, text in self._texts.items():
            for found in _WORD.findall(text):
                for word in {found, *re.findall(r"\w+", found)}:
                    words.setdefault(word, Counter())[path] += 1
        return words

    def _naming(self, word: str) -> list[str]:
        """Tests that have the word, the most often first."""
        return [path for path, _ in self._words.get(word, Counter()).most_common()]

    def _called(self, name: str) -> list[str]:
        """Tests whose file is called by it: ``test_NAME.py``, then ``test_NAME_more.py``."""
        stems = {path: PurePosixPath(path).stem for path in self._texts}
        same = [path for path, stem in stems.items() if stem == f"test_{name}"]
        return same + [path for path, stem in stems.items() if stem.startswith(f"test_{name}_")]

    def _of_folder(self, path: PurePosixPath) -> list[str]:
        """Where no test knows the file: those of its folder, or of the folder that folder is in."""
        if path.parts[0] == "sql" and (
            named := [one for up in path.parents for one in self._called(up.name)]
        ):
            return named
        if known := _of_first(FOLDERS, path.as_posix()):
            return known
        if path.parts[0] not in ("harness", "tests", "tools"):
            return []
        for folder in list(path.parents)[:-1]:
            of = "tests/tools/" if folder.parts[0] == "tools" else f"{folder}/"
            if here := [one for one in self._texts if one.startswith(of)]:
                naming = self._naming(path.parent.name)
                return sorted(here, key=lambda one: one not in naming)
            within = ".".join(folder.parts[1:]) + "."
            ring = [one for one in self._imports if one.startswith(within)]
            if found := [
                test for one in ring for test in _search(one, self._importers, self._test_of)
            ]:
                return found
        return []

    # ------------------------------------------------------------------ Python
    def _of_module(self, path: PurePosixPath) -> list[str]:
        """Tests that import it, else those that import what imports it, and so on."""
        parts = path.with_suffix("").parts
        parts = parts[1:] if parts[0] == "harness" else parts
        if path.name == "conftest.py":
            return [one for one in self._texts if PurePosixPath(one).parent == path.parent]
        module = ".".join(parts[:-1] if path.name == "__init__.py" else parts)
        called = self._called(parts[-1])
        importing = _search(module, self._importers, self._test_of) or called
        return sorted(importing, key=lambda one: (one not in called, _apart(one, parts), one))

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """The modules that import one, by its name."""
        from grimp import build_graph

        before = sys.path
        sys.path = [str(self._root), *before]  # a command is not started where the tests are
        try:
            graph = build_graph(*PACKAGES, cache_dir=str(self._root / "var" / "grimp"))
        finally:
            sys.path = before
        return {one: graph.find_modules_that_directly_import(one) for one in graph.modules}

    def _importers(self, module: str) -> Iterable[str]:
        return self._imports.get(module, ())

    def _test_of(self, module: str) -> list[str]:
        path = module.replace(".", "/") + ".py"
        return [path] if path in self._texts else []

    # ------------------------------------------------------------------ templates
    def _of_object(self, template: str) -> list[str]:
        """Tests called by its object, then those that name it; of a part none: its wholes have them."""
        if common := _of_first(COMMON, template):
            return common
        name = _object(template)
        naming = [one for one in self._naming(name) if one not in LISTS]
        return [*self._called(name), *naming] if name else []

    @cached_property
    def _templates(self) -> dict[str, str]:
        found = sorted((self._root / "sql" / "templates").rglob("*.j2"))
        return {one.relative_to(self._root).as_posix(): one.read_text("utf-8") for one in found}

    def _wholes(self, template: str) -> Iterable[str]:
        """Templates that include it, or name its object."""
        short = template.removeprefix("sql/templates/")
        included = (f'"{short}"', f'"{short.partition("/")[2]}"')
        name = _object(template)
        word = re.compile(rf"\b{name}\b" if name else "(?!)")
        return [
            one
            for one, text in self._templates.items()
            if one != template and (any(each in text for each in included) or word.search(text))
        ]


def _object(template: str) -> str:
    """The object a template makes; empty for a part, which makes none."""
    found = _OBJECT.match(PurePosixPath(template).name)
    return "" if found is None or template.endswith(".inc.j2") else found[1]


def _of_first(folders: Mapping[str, tuple[str, ...]], path: str) -> list[str]:
    """The tests of the first folder it is in."""
    for at, tests in folders.items():
        if path.startswith(at):
            return [f"tests/{one}" for one in tests]
    return []


def _search(
    start: str, above: Callable[[str], Iterable[str]], tests: Callable[[str], list[str]]
) -> list[str]:
    """The tests in the first ring around it that has some."""
    seen, ring = {start}, [start]
    while ring:
        found = [test for one in ring for test in tests(one)]
        if found:
            return found
        ring = sorted({user for one in ring for user in above(one)} - seen)
        seen.update(ring)
    return []


def _apart(test: str, parts: tuple[str, ...]) -> int:
    """Less, the more folders a test has in common with a module: the nearest comes first."""
    return -len(set(PurePosixPath(test).parent.parts) & set(parts))

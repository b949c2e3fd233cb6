"""The extra ``spark`` alone is enough: all that our Spark code and Spark Connect's client import."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement

from redial.paths import PACKAGE, ROOT, SOURCES

FOLDERS = (PACKAGE / "spark", SOURCES / "pyspark_servicebroker")
OWN = {"redial", "pyspark_servicebroker"}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(text: str) -> str:
    """As PyPI compares names."""
    return re.sub(r"[-_.]+", "-", text).lower()


def installed(*extras: str) -> dict[str, Requirement]:
    """What ``pip install 'FILE.whl[EXTRAS]'`` asks for, by name; spark by default."""
    lines = list(project()["dependencies"])
    for extra in extras or ("spark",):
        lines += project()["optional-dependencies"][extra]
    return {name_of(one.name): one for one in map(Requirement, lines)}


def imported(source: str) -> set[str]:
    """The packages a module imports anywhere, but its own and Python's."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - OWN - sys.stdlib_module_names


def test_all_that_our_spark_code_imports_is_asked_for():
    modules = [path.read_text("utf-8") for folder in FOLDERS for path in folder.glob("*.py")]
    wanted = set().union(*map(imported, modules))
    assert {"pyspark", "deltalake", "pyarrow"} <= wanted, "they are imported inside functions"
    by = packages_distributions()
    by.setdefault("py4j", ["py4j"])
    # py4j is a part of PySpark's own installation.
    asked = set(installed()) | {"py4j"}
    assert [n for n in sorted(wanted) if not {name_of(d) for d in by.get(n, [n])} & asked] == []


def test_an_import_that_nobody_asks_for_is_found():
    assert imported("def f():\n    import seaborn.objects\n    from os import path\n") == {
        "seaborn"
    }


def test_all_that_pyspark_asks_for_connect_is_asked_for_in_no_older_version():
    pytest.importorskip("pyspark")
    lines = [Requirement(line) for line in requires("pyspark") or ()]
    connect = [one for one in lines if one.marker and one.marker.evaluate({"extra": "connect"})]
    assert "grpcio" in {one.name for one in connect}
    # numpy comes with pandas, in a later version than PySpark's.
    missing = [one.name for one in connect if name_of(one.name) not in {*installed(), "numpy"}]
    assert missing == []
    for one in connect:
        if one.name == "numpy":
            continue
        ours = installed()[name_of(one.name)].specifier
        (least,) = (bound.version for bound in ours if bound.operator == ">=")
        assert one.specifier.contains(least), f"{one.name}: PySpark wants {one.specifier}"

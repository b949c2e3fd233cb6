"""Every constant has one name and one place: no two modules of harness/ define the same one.

The same is: a name in capitals, leading underscores apart, and a value that is written alike.
One of the two modules defines it, the lower one, and the other imports it. Where the equal values
mean different things, the names have to say so. Looked at is what stands at the top of a module.
Nobody finds here one value under two names, or a constant that is written out where it is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from redial.paths import SOURCES

CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*")
NOT_SHARED = re.compile(
    r"(typing\.)?TypeVar\(.*\)|logging\.getLogger\(__name__\)|\{\}|\[\]|\(\)|(dict|list|set|frozenset)\(\)"
)
"""Values that are each module's own: its logger, its type variables, what begins empty."""

OWN = ("redial_lab.scenarios.", "redial_lab.bench.", "redial_broker.tds.null")
"""Not looked at: a story or a load says itself how large it is, and the null instance whom it lets in.
A change of one changes no other."""


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    """(name, value as text) of an assignment; ``A, B = 1, 2`` gives two."""
    if isinstance(target, ast.Name):
        yield target.id, ast.unparse(value)
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for place, each in enumerate(target.elts):
            if len(values) == len(target.elts):
                yield from _pairs(each, values[place])
            elif isinstance(each, ast.Name):
                yield each.id, f"{ast.unparse(value)}[{place}]"


def constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """(name without underscores in front, value) of every constant at the top of a module."""
    for node in body:
        if isinstance(node, ast.Assign):
            found = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found = list(_pairs(node.target, node.value))
        elif isinstance(node, ast.If | ast.Try):
            handlers = getattr(node, "handlers", [])
            parts = [node.body, node.orelse, *(each.body for each in handlers)]
            yield from (pair for part in parts for pair in constants(part))
            continue
        else:
            continue
        for name, value in found:
            if CONSTANT.fullmatch(name) and not NOT_SHARED.fullmatch(value):
                yield name.lstrip("_"), value


def places(sources: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """The modules that define each constant. sources: texts by the names of their modules."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, text in sources.items():
        for constant in constants(ast.parse(text).body):
            found.setdefault(constant, set()).add(module)
    return {constant: sorted(modules) for constant, modules in found.items()}


def twice(sources: Mapping[str, str]) -> list[str]:
    """A line for each constant with two places: what it is, and the modules."""
    return [
        f"{name} = {value}: {', '.join(modules)}"
        for (name, value), modules in sorted(places(sources).items())
        if len(modules) > 1
    ]


def harness() -> dict[str, str]:
    """The text of every module that is looked at, by its dotted name."""
    texts = {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(SOURCES.rglob("*.py"))
    }
    return {module: text for module, text in texts.items() if not module.startswith(OWN)}


def test_no_constant_is_defined_in_two_modules():
    sources = harness()
    assert {module.partition(".")[0] for module in sources} == {
        "pyspark_servicebroker",
        "redial",
        "redial_broker",
        "redial_lab",
    }
    assert len(places(sources)) > 1500, "their constants were not found"
    assert twice(sources) == [], "the lower module keeps it and the other imports it"


# ---------------------------------------------------------------------- the finder itself
def test_a_constant_of_two_modules_is_found_and_both_are_named():
    sources = {
        "made.one": "LIMIT = 0x10\nOTHER = 3",
        "made.two": "LIMIT = 16",
        "made.three": "LIMIT = 17",
    }
    assert twice(sources) == ["LIMIT = 16: made.one, made.two"]


def test_an_underscore_a_type_and_a_row_of_names_hide_nothing():
    sources = {
        "made.one": "MARKS = frozenset({'a'})\nFIRST = 1\nNONE, SOME = range(2)",
        "made.two": "_MARKS: frozenset[str] = frozenset({'a'})",
        "made.three": "ZERO, _FIRST = 0, 1\n(NONE, ALL) = range(2)",
    }
    assert twice(sources) == [
        "FIRST = 1: made.one, made.three",
        "MARKS = frozenset({'a'}): made.one, made.two",
        "NONE = range(2)[0]: made.one, made.three",
    ]


def test_a_condition_hides_nothing():
    sources = {
        "made.one": "import sys\nif sys.platform == 'win32':\n    PATH = 'a'\nelse:\n    PATH = 'b'",
        "made.two": "try:\n    import x\nexcept ImportError:\n    PATH = 'b'",
    }
    assert twice(sources) == ["PATH = 'b': made.one, made.two"]


def test_what_is_each_modules_own_is_left_alone():
    text = (
        "import logging\nfrom typing import TypeVar\nfrom made.low import LIMIT\n"
        "_LOG = logging.getLogger(__name__)\n_T = TypeVar('_T')\nKEPT: dict[str, int] = {}\n"
        "plain = 1\n\n\ndef f():\n    INSIDE = 1\n\n\nclass C:\n    FIELD = 1\n"
    )
    assert twice({"made.low": "LIMIT = 1", "made.one": text, "made.two": text}) == []

"""The style of every module, whatever the configuration: what a reader finds where."""

from __future__ import annotations

import re
from functools import cache

import pytest

from redial.cli.configs import chosen, load_named
from redial.config.variants import EXTRAS, listing
from redial.paths import DOCS
from tests.installed import rendered
from tests.product.sql.bare import FILE

from ..texts import code

MODULE = re.compile(r"\.(procedure|function|view|trigger)\.sql$")
NEWER = (
    "STRING_AGG",
    "TRIM",
    "TRANSLATE",
    "CONCAT_WS",
    "GREATEST",
    "LEAST",
    "DATETRUNC",
    "DATE_BUCKET",
    "GENERATE_SERIES",
    "JSON_OBJECT",
    "JSON_ARRAY",
    "APPROX_COUNT_DISTINCT",
    "STRING_SPLIT",
    "BIT_COUNT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "REGEXP_LIKE",
    "SESSION_ID",
)
"""Functions that a server of 2016 SP1 does not have (STRING_SPLIT has them, without an ordinal)."""
BOX = re.compile(r"^ *(/\* -{20,} \*/)\n *(/\* (\d+)  (?:.+\n)+?) *\1$", re.M)


@cache
def scripts() -> dict[str, str]:
    """Every different text of every file: the shipped configurations, and one variant for each
    value of each choice."""
    configs = [load_named(name) for name in chosen(None)]
    seen: set[str] = set()
    for variant in listing().variants:
        values = set(variant.name.split("-")) if variant.name not in EXTRAS else {variant.name}
        if not variant.comparison and not values <= seen:
            seen |= values
            configs.append(variant.config)
    found: dict[str, str] = {}
    for config in configs:
        for name, text in rendered(config).items():
            if name.endswith(".sql") and not FILE.fullmatch(name):
                plain = re.sub(
                    rf"//redial/{config.name}|{config.name}",
                    "combo",
                    text.replace("//combo", "combo"),
                )
                if plain not in seen:
                    seen.add(plain)
                    found[name if name not in found else f"{name} ({len(seen)})"] = text
    return found


MODULES = {n: t for n, t in scripts().items() if MODULE.search(n.split(" (")[0])}
PROCEDURES = {n: t for n, t in MODULES.items() if ".procedure." in n}


def test_there_is_something_to_look_at():
    assert len(PROCEDURES) >= 14


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_procedure_opens_in_the_fixed_order(name):
    """Name, parameters, EXECUTE AS if others call it, stamp, what it does, settings, variables."""
    text = PROCEDURES[name]
    opening = re.search(
        r"CREATE OR ALTER PROCEDURE \[(?:[^\]]|\]\])+\]\.\[\w+\]\n(?:    @.*\n(?: {4,}.*\n)*)*"
        r"(?:WITH EXECUTE AS N'(?:[^']|'')+'\n)?AS\n/\* Redial [^*]+ \*/\n"
        r"(?:/\*(?:[^*]|\*(?!/))*\*/\n)*BEGIN\n    SET NOCOUNT ON;\n",
        text,
    )
    assert opening, text[:600]
    assert text.rstrip().endswith("END;\nGO")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_carries_its_stamp_and_is_made_by_create_or_alter(name):
    text = MODULES[name]
    assert len(re.findall(r"^CREATE OR ALTER ", text, re.M)) == 1
    assert len(re.findall(r"/\* Redial \d+\.\d+\.\d+, configuration [^*]+\*/", text)) == 1


@pytest.mark.parametrize("name", PROCEDURES)
def test_sections_are_numbered_upwards(name):
    """A gap is a section that another choice of the configuration has."""
    text = PROCEDURES[name]
    lines = [line.strip() for line in text.split("\n")]
    numbers, inside = [], False
    for line in lines:
        if re.fullmatch(r"/\* -{20,} \*/", line):
            inside = not inside
        elif inside and (found := re.match(r"/\* (\d+)  ", line)):
            numbers.append(int(found[1]))
    assert not inside, "a box is not closed"
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("name", PROCEDURES)
def test_one_careful_reader_can_follow_a_procedure(name):
    assert PROCEDURES[name].count("\n") <= 250


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_parameter_that_may_be_left_out_or_is_a_switch_says_what_it_means(name):
    """But for @Help and @Debug, which are the same in every operator's procedure."""
    head = PROCEDURES[name].split("\nWITH EXECUTE AS", 1)[0]
    silent = [
        line.strip()
        for line in head.split("\n")
        if line.startswith("    @")
        and "/*" not in line
        and re.search(r"=| bit\b", line)
        and not re.match(r"    @(Help|Debug) bit = 0,?$", line)
    ]
    assert silent == []


@pytest.mark.parametrize("name", PROCEDURES)
def test_what_destroys_or_ends_only_shows_unless_told(name):
    text = PROCEDURES[name]
    if re.search(r"^    @WhatIf\b", text, re.M):
        assert re.search(r"@WhatIf bit = 1,? +/\*", text)
    if "/* lint: operator */" in text:
        assert "@WhatIf bit = 1" in text


def test_nothing_newer_than_2016_is_called():
    for name, text in scripts().items():
        called = [f for f in NEWER if re.search(rf"\b{f}\s*\(", code(text))]
        assert called == [], name
        assert not re.search(r"\bIS (NOT )?DISTINCT FROM\b", code(text)), name


def test_every_error_number_stands_in_the_register_and_every_entry_is_raised():
    register = (DOCS / "errors.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| (5\d{4}) \|", register, re.M))
    raised = {
        number
        for text in scripts().values()
        for number in re.findall(r"(?:THROW|WITH ERROR =) (5\d{4})\b", code(text))
    }
    assert raised - listed == set()


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_message_names_the_parameter_its_rule_or_the_next_command(name):
    """No error is a bare complaint: it says what must be, or what to do next."""
    for text in re.findall(r"THROW 5\d{4}, N'((?:[^']|'')*)'", PROCEDURES[name]):
        assert re.search(r"must|Next:|Nothing was|was not|[Cc]all|before", text), text


def test_no_line_of_a_module_is_so_long_that_a_diff_tool_cuts_it():
    for name, text in MODULES.items():
        assert max(map(len, text.split("\n"))) <= 400, name

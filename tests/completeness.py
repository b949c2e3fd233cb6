"""What lacks a member of the model: each function names what was left out when one thing was added.

Used by tests/test_howto.py. The lists below are kept by hand on purpose: each says why.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from redial.config import Config
from redial.config.choices import LookupHint, TimerStrategy
from redial.config.sections import Section
from redial.config.variants import listing, merged
from redial.lint import rules
from redial.lint.model import Rule
from redial.paths import CONFIGS, ROOT, SQL, TEMPLATES
from redial.render import render
from redial.tsql import TsqlSyntaxError
from redial_broker.engine.errors import NotSupported, SqlError

TESTS = ROOT / "tests"
OURS = ("completeness.py", "test_howto.py")
"""Files that name everything, and so prove nothing."""


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


UNEXPLAINED = {"target.database", "comparison.lookup_hint"}
"""Options that are not in audit.toml: one has no default that could be written, one is for
comparison only."""


def options(model: type[BaseModel] = Config) -> Iterator[tuple[str, str, Any]]:
    """(section, option, annotation) of the model."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            for option, inner in kind.model_fields.items():
                yield name, option, inner.annotation


def unexplained(model: type[BaseModel] = Config, text: str = "") -> list[str]:
    """Options that audit.toml lacks, and words of choices that no comment of it names."""
    text = text or (CONFIGS / "audit.toml").read_text("utf-8")
    there = tomllib.loads(text)
    found = []
    for section, option, kind in options(model):
        if f"{section}.{option}" in UNEXPLAINED:
            continue
        if option not in there.get(section, {}):
            found.append(f"{section}.{option}")
        elif isinstance(kind, type) and issubclass(kind, StrEnum) and kind not in COMPARED:
            block = text.split(f"\n[{section}]")[1]
            lines = re.search(rf"^{option} = .*\n(?:\s+#.*\n)*", block, re.M)
            assert lines is not None
            known = set(re.findall(r"\w+", lines[0]))
            found += [f"{section}.{option} = {word}" for word in kind if word not in known]
    return found


COMPARED = (TimerStrategy, LookupHint)
"""Choices all but one of whose words are for comparison only: docs/comparators.md has them."""


def unread(model: type[BaseModel] = Config, templates: Path = TEMPLATES) -> list[str]:
    """Options that neither a template nor the package reads."""
    files = [*templates.rglob("*.j2"), *(ROOT / "harness" / "redial").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in files)
    return [
        f"{section}.{option}"
        for section, option, _ in options(model)
        if not re.search(
            rf"\b(?:c|self|config)\.{section}\.{option}\b|\b(chosen|aged|timer)\.{option}\b", text
        )
    ]


def unchanged(model: type[BaseModel] = Config, tests: str = "") -> list[str]:
    """Options that no test gives a value of its own."""
    tests = tests or "\n".join(
        path.read_text("utf-8") for path in TESTS.rglob("*.py") if path.name not in OURS
    )
    variants = [variant.config for variant in listing().variants]
    found = []
    for section, option, _ in options(model):
        if section not in model.model_fields or re.search(
            rf"[\"']{option}[\"']\s*[:\]]|\b{option}\s*=", tests
        ):
            continue
        values = {repr(getattr(getattr(one, section), option, None)) for one in variants}
        if len(values) < 2:
            found.append(f"{section}.{option}")
    return found


OWED_VALUES = ["exactly_once.keep_days"]
"""Options no test changes. The list may only become shorter."""


NOT_THE_SAME = {
    "CURRENT_REQUEST_ID": "of the session",
    "DATENAME": "SET LANGUAGE",
    "GETANSINULL": "an option of the session",
    "ISDATE": "SET DATEFORMAT",
    "RAND": "only with a seed",
}
"""Functions the broker works out once for constants, and whose answer may be another one in another
session: not for computed columns."""


OWED_COLUMNS = {
    *("BIT_COUNT", "COMPRESS", "DATE_BUCKET", "DIFFERENCE", "GET_BIT", "JSON_PATH_EXISTS"),
    *("LEFT_SHIFT", "RIGHT_SHIFT", "SET_BIT", "SOUNDEX"),
}
"""Not in DETERMINISTIC yet, so computed columns refuse them. The list may only become shorter."""


OWED_TESTS = {
    *("ASSEMBLYPROPERTY", "ASYMKEY_ID", "ATAN", "COS", "CURRENT_REQUEST_ID", "CURRENT_TIMEZONE"),
    *("CURRENT_TIMEZONE_ID", "DECRYPTBYASYMKEY", "DEGREES", "ENCRYPTBYASYMKEY"),
    *("ERROR_SEVERITY", "ERROR_STATE", "EXP", "FILEPROPERTY", "HAS_DBACCESS", "IDENT_INCR"),
    *("IDENT_SEED", "INDEXKEY_PROPERTY", "INDEX_COL", "IS_ROLEMEMBER", "OBJECTPROPERTYEX"),
    *("ORIGINAL_DB_NAME", "RADIANS", "SIGNBYASYMKEY", "SIN", "SUSER_NAME", "SUSER_SID", "TAN"),
    *("VERIFYSIGNEDBYASYMKEY",),
}
"""Functions that no test calls but that of strange arguments. The list may only become shorter."""


ARGUMENTS = (
    *("", "1", "'a'", "'2020-01-01'", "'1', 1", "'a', 'b'", "1, 1", "'{}', '$.a'", "1, 1, 1"),
    *("'a', 'b', 'c'", "'a', 1, 1", "day, '2020-01-01'", "day, 1, '2020-01-01'"),
    *("day, '2020-01-01', '2020-01-02'", "'2020-01-01', '+01:00'", "1, 1, 1, 1", "'a', 1, 1, 'b'"),
    *("1, 1, 1, 1, 1", "1, 1, 1, 1, 1, 1, 1"),
)


def is_constant(name: str) -> bool:
    """Whether the broker works a call with constants out once, when it compiles it."""
    from tests.broker.exec.evaluate import compiled

    for arguments in ARGUMENTS:
        try:
            if compiled(f"{name}({arguments})").constant:
                return True
        except (SqlError, NotSupported, TsqlSyntaxError):
            continue
    return False


def uncalled(names: Iterable[str], text: str = "") -> set[str]:
    """Functions that no test of the broker calls."""
    text = text or "\n".join(p.read_text("utf-8") for p in (TESTS / "broker").rglob("*.py"))
    words = set(re.findall(r"\w+", text.upper()))
    return {name for name in names if name.isidentifier() and name not in words}


def codes(family: Iterable[Rule]) -> list[str]:
    return sorted(rule.code for rule in family)


def every_rule() -> list[Rule]:
    """The rules of every module, those too whose code another one has."""
    return [*rules.BROKER, *rules.FILES, *rules.TABLES, *rules.TRANSACTIONS]


FINDING = re.compile(
    r"\s*(?:VALUES \(|SELECT\s+(?:TOP \(1\) )?)(?:\d+|CASE.*?\bEND),\s*(N'[^']+'|CASE.*?\bEND),",
    re.S,
)


OWED_FINDINGS = {
    *("database without owner", "landed rows past their time", "messages that have not landed"),
    *(
        "CLOSED past their time",
        "no queue monitor",
        "queue missing",
        "resend too large for activation",
    ),
}
"""Findings that no test brings about. The list may only become shorter."""


FIGURES = {"messages in a queue", "readers running", "rows in a table", "version"}
"""Lines that a healthy installation has too."""


def findings(templates: Path = TEMPLATES) -> set[str]:
    """The findings usp_Health and its parts can have."""
    found = set()
    for path in templates.rglob("*Health*.j2"):
        for block in re.split(r"INSERT INTO [@#]found ", path.read_text("utf-8"))[1:]:
            values = block.partition(")")[2]
            if re.match(r"\s*(SELECT f\.Priority|EXECUTE)", values):
                continue  # the parts put together
            head = FINDING.match(values)
            assert head, f"{path.name}: not understood: {values[:80]}"
            found |= set(re.findall(r"(?:THEN |ELSE |^)N'([^']+)'", head[1]))
    return found


def unmade(templates: Path = TEMPLATES, more: str = "") -> set[str]:
    """Findings that no test of the product's T-SQL names."""
    tests = (TESTS / "product" / "sql").rglob("*.py")
    text = "\n".join(path.read_text("utf-8") for path in tests) + more
    return {name for name in findings(templates) if f'"{name}"' not in text} - FIGURES


def untold(names: Iterable[str], more: str = "") -> list[str]:
    """Scenarios without a test that they are clean with ours and caught with their mutant."""
    tests = (TESTS / "lab" / "scenarios").glob("test_*.py")
    text = "\n".join(path.read_text("utf-8") for path in tests) + more
    calls = {"clean": r"(?:clean\(|verdict\(|SCENARIOS\[)", "caught": r"caught\("}
    return [
        f"{call}({name})"
        for name in names
        for call, words in calls.items()
        if not re.search(rf'\b{words}\s*"{name}"', text)
    ]

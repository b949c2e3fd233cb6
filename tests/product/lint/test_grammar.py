"""How far the grammar reaches: every rendered file, and everything public scripts use."""

from __future__ import annotations

from functools import cache

import pytest

from tests.installed import committed

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed: pip install '.[lint]'")

import sqlfluff

from redial.config import load
from redial.lint import plugin
from redial.lint.plugin import conversations, definitions, grammar, keys
from redial.lint.seeds import seeds
from redial.paths import CONFIGS, SQL
from redial.render import comparator_names, render
from redial_lab.pages.coverage.examples import lists, more, script, surface
from tests.sampling import full

TESTED = ("4.5",)
"""Versions of sqlfluff whose classes the plugin fits (pyproject.toml allows no other)."""

NOT_OURS = {
    "CREATE ASSEMBLY",
    "ALTER ASSEMBLY",
    "ALTER TRIGGER",
    "CursorDefault",
    "PageVerify",
    "Parameterization",
    "TargetRecoveryTime",
    "UPDATE .WRITE",
    "column.modify()",
    "INSERT BULK",
    "ALTER SCHEMA TRANSFER",
    "CHECKPOINT",
    "KILL",
    "BACKUP DATABASE",
    "ALTER LOGIN",
    "FIPS_FLAGGER 'FULL'",
    "CURSOR_DEFAULT GLOBAL",
    "DELAYED_DURABILITY = ALLOWED",
    "PAGE_VERIFY CHECKSUM",
    "PARAMETERIZATION FORCED",
    "PARAMETERIZATION SIMPLE",
    "TARGET_RECOVERY_TIME = 60 SECONDS",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "TABLE HINT (t, NOLOCK)",
}
"""Constructs of evidence/surface that sqlfluff's own tsql grammar does not know. None is of Service
Broker, and none is in our templates."""


@pytest.fixture(scope="module")
def raw():
    """sqlfluff with the plugin, for plain text."""
    from sqlfluff.core import FluffConfig, Linter

    plugin.register()
    return Linter(config=FluffConfig(overrides={"dialect": "tsql", "templater": "raw"}))


def unparsed(using, sql: str) -> list[str]:
    return [str(one)[:200] for one in using.parse_string(sql).violations]


@cache
def rendered() -> dict[str, str]:
    """Every part and script that is rendered, each text once, the shortest first."""
    texts = {text: name for name, text in reversed(committed().items())}
    return {texts[text]: text for text in sorted(texts, key=len)}


@pytest.mark.sampled(every=60, last=False)
@pytest.mark.parametrize("name", rendered())
def test_a_rendered_part_parses(raw, name):
    assert unparsed(raw, rendered()[name]) == []


@pytest.mark.sampled(every=6, last=False)
@pytest.mark.parametrize("name", ["article", *comparator_names(SQL)])
def test_every_file_of_a_comparator_parses(raw, name):
    config = load(CONFIGS / "audit.toml")
    ours = render(config)
    for file, text in render(config, mutant=name).items():
        if ".procedure." in file and ours.get(file) != text:
            assert unparsed(raw, text) == [], file


def test_the_seeds_parse(raw):
    for seed in seeds():
        for file, text in seed.texts.items():
            assert unparsed(raw, text) == [], file


def test_everything_public_scripts_use_parses_but_what_is_listed(raw):
    """Every twelfth of them and what is listed, and all of them with --full."""
    every = (*surface(), *more(), *lists())
    assert {example.name for example in every} >= NOT_OURS
    bad = {
        example.name
        for number, example in enumerate(every)
        if (full() or number % 12 == 0 or example.name in NOT_OURS)
        and unparsed(raw, "\nGO\n".join(sql.rstrip() for sql in script(example)) + "\n")
    }
    assert bad - NOT_OURS == set()


def test_nothing_of_service_broker_is_on_that_list():
    words = (
        "DIALOG",
        "CONVERSATION",
        "SEND",
        "RECEIVE",
        "QUEUE",
        "SERVICE",
        "MESSAGE",
        "CONTRACT",
        "ROUTE",
        "ENDPOINT",
        "PRIORITY",
        "CERTIFICATE",
        "MASTER KEY",
        "SIGNATURE",
    )
    assert [name for name in NOT_OURS if any(word in name for word in words)] == []


def test_sqlfluff_is_a_version_the_plugin_was_fitted_to():
    """Canary. When this fails after an upgrade: run this file and test_style.py; where the others
    fail, compare the classes that harness/redial/lint/plugin/grammar.py changes with sqlfluff's:
    StatementSegment, BatchSegment, FileSegment, ExecuteScriptSegment, WaitForStatementSegment,
    WithCompoundStatementSegment, SecurableSegment, ExecuteAsClauseSegment. Then add the version to
    TESTED and to pyproject.toml."""
    assert ".".join(sqlfluff.__version__.split(".")[:2]) in TESTED


def test_every_statement_of_ours_is_in_the_dialect():
    from sqlfluff.core.dialects import load_raw_dialect

    plugin.register()
    assert grammar.installed()
    known = load_raw_dialect("tsql")._library
    statements = (*conversations.STATEMENTS, *definitions.STATEMENTS, *keys.STATEMENTS)
    assert {one.__name__ for one in statements} <= set(known)

"""``fix`` never changes what a file means: Microsoft's parser prints the same normal form before
and after. Proven on every rendered file, the seeds' own T-SQL and a corpus of statements, each made
a mess of first; ``mended`` itself compares our own trees and refuses."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.installed import committed

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed: pip install '.[lint]'")

from redial.lint.oracle import OracleAbsent, normal_form
from redial.lint.seeds import seeds
from redial.lint.style import FIXABLE, FixRefused, linter, mended
from redial_lab.pages.coverage.examples import more, script, surface
from tests.sampling import full

from .test_style import STATEMENTS
from .untidy import untidied

GROUP = 100


@cache
def rendered() -> dict[str, str]:
    """Every part and script that is rendered, the shortest first; of a second configuration only the
    objects the ones before do not have."""
    found: dict[str, str] = {}
    for name, text in committed().items():
        found.setdefault(re.sub(r"^(\d\d_)+", "", name.split(" ")[1]), text)
    return dict(sorted(found.items(), key=lambda item: len(item[1])))


def corpus() -> list[list[str]]:
    """Scripts of the tests and of the public surface, in groups the oracle reads together."""
    scripts = [
        "\nGO\n".join(sql.rstrip() for sql in script(example)) for example in (*surface(), *more())
    ]
    scripts = STATEMENTS + scripts
    return [scripts[at : at + GROUP] for at in range(0, len(scripts), GROUP)]


@pytest.fixture(scope="module")
def using():
    return linter("audit", FIXABLE)


def normal(sql: str) -> str:
    """Microsoft's normal form; the test is skipped, saying why, where that parser is absent."""
    try:
        return normal_form(sql, partial=True)
    except OracleAbsent as error:
        pytest.skip(f"our own trees were compared; Microsoft's parser is absent: {error}")


def proven(scripts: list[str], name: str, using) -> None:
    """Fails when either parser reads something else in a mended mess than in the script itself.

    A script that ``fix`` refuses stays as it is, and is rare.
    """
    better, refused = [], 0
    for sql in scripts:
        mess = untidied(sql, seed=len(sql))
        try:
            better.append(mended(mess, name, using))
        except FixRefused:
            better.append(mess)
            refused += 1
    assert refused <= len(scripts) // 10
    found = normal("\nGO\n".join(better))
    assert found == normal("\nGO\n".join(scripts))
    assert found.count("(not read)") <= len(scripts) // 10, "newer than the oracle"


@pytest.mark.oracle
@pytest.mark.sampled(every=100, last=False)
@pytest.mark.parametrize("name", rendered())
def test_a_rendered_part_says_the_same_after_fix(name, using):
    proven([rendered()[name]], name, using)


@pytest.mark.oracle
@pytest.mark.sampled(every=40)
@pytest.mark.parametrize("seed", seeds(), ids=lambda seed: seed.number)
def test_the_seeds_say_the_same_after_fix(seed, using):
    proven(list(seed.texts.values()), seed.number, using)


@pytest.mark.oracle
@pytest.mark.sampled(every=20)
@pytest.mark.parametrize("number", range(len(corpus())))
def test_statements_of_every_kind_say_the_same_after_fix(number, using):
    """Of each group the first twenty, and all of it with --full."""
    group = corpus()[number]
    proven(group if full() else group[:20], f"corpus {number}", using)


def test_the_mess_is_one_to_every_reader_but_the_server():
    text = "CREATE PROCEDURE dbo.p AS\nBEGIN\n    SELECT N'a  b' AS [C D];\nEND;\nGO\n"
    mess = untidied(text, seed=1)
    assert mess != text
    assert "N'a  b'" in mess and "[C D]" in mess

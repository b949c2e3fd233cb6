"""Our parser agrees with Microsoft's on all our scripts and the zoo, but for listed reasons."""

import pytest

from tests.sampling import full
from tools.agreement import reasons, sources
from tools.agreement.compare import (
    ACCEPT,
    BUG_ACCEPT,
    BUG_REJECT,
    ELSEWHERE,
    NAMED,
    REJECT,
    compare,
)


def report(text, errors=(), statements=()):
    return {"file": "f", "line": 1, "text": text, "errors": list(errors), "statements": statements}


def test_verdicts_are_told_apart():
    error = [1, 8, 46010, "Incorrect syntax near FROM."]
    select = [0, 1, 1, 0, 8, "SelectStatement"]
    cases = [
        (report("SELECT 1", statements=[select]), ACCEPT),
        (report("SELECT FROM t", [error]), REJECT),
        (report("SELECT * FORM t x y", [error]), ELSEWHERE),
        (report("SELECT 1", [error]), BUG_ACCEPT),
        (report("FOO BAR 1", statements=[select]), BUG_REJECT),
        (report("LINENO 1", statements=[select]), NAMED),
    ]
    assert [compare([given])[0].group for given, _ in cases] == [group for _, group in cases]


def test_a_refusal_hides_no_other_statement_of_its_batch():
    text = "LINENO 1; SELECT 1"
    statements = [[0, 1, 1, 0, 9, "LineNoStatement"], [0, 1, 11, 10, 8, "SelectStatement"]]
    groups = [finding.group for finding in compare([report(text, statements=statements)])]
    assert groups == [NAMED, ACCEPT]


def test_what_needs_a_terminator_is_found_between_statements():
    text = "SET @a = 1 SEND ON CONVERSATION @h"
    statements = [[0, 1, 1, 0, 10, "SetVariableStatement"], [0, 1, 12, 11, 23, "SendStatement"]]
    findings = compare([report(text, statements=statements)])
    assert [f.group for f in findings] == [ACCEPT, ACCEPT, BUG_REJECT]
    assert reasons.explain(findings, reasons.read())[1] == []


@pytest.mark.oracle
@pytest.mark.parametrize("source", ["own", "zoo"])
def test_every_difference_has_a_listed_reason(source):
    """Of our scripts every twenty-fifth, of the zoo every fourth line, and all of them with --full."""
    try:
        every = {"zoo": 4, "own": 25}[source]
        findings = compare(getattr(sources, source)(1 if full() else every))
    except sources.OracleMissing as error:
        pytest.skip(f"the oracle's wheels cannot be had: {error}")
    assert len(findings) > (300 if full() else 100)
    assert reasons.explain(findings, reasons.read())[1] == []

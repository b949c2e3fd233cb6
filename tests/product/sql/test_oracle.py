"""Microsoft's own parser and schema model find nothing wrong with any rendered script.

Canary: when the oracle's wheels cannot be had, or no longer unpack as tools/oracle/bootstrap.py
expects, the oracle tests are skipped with pip's words, and the stored verdicts stand in for them.
"""

import sys

import pytest

from redial.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import oracle_verdicts

from tests.oracle import fetched


@pytest.fixture(scope="module")
def oracle():
    """The oracle, if its wheels are here or can be downloaded; stored verdicts are looked at anyhow."""
    fetched()


INSTALLATIONS = sorted({script.rsplit("/", 1)[0] for script in oracle_verdicts.stored()})
"""Without rendering them: every process of the suite collects these tests."""


def test_every_rendered_script_has_a_stored_verdict():
    fix = "next: python tools/oracle_verdicts.py, which judges anew and stores"
    assert oracle_verdicts.unjudged() == [], fix
    assert sorted(oracle_verdicts.installations()) == INSTALLATIONS, fix


@pytest.mark.oracle
@pytest.mark.nightly("each has a stored verdict, looked at above; the daily canary is below")
@pytest.mark.parametrize("name", INSTALLATIONS)
def test_the_oracle_finds_nothing(name, oracle, tmp_path):
    scripts = oracle_verdicts.installations()[name]
    assert oracle_verdicts.judge(scripts, tmp_path, name) == []


@pytest.mark.oracle
def test_the_oracle_sees_what_it_should_see(oracle, tmp_path):
    """A syntax error, a missing column and a missing table, so that silence means something."""
    scripts = dict(oracle_verdicts.installations()["audit"])
    send, log = "72_02_usp_AcquireConversation.procedure.sql", "70_usp_LogError.procedure.sql"
    scripts["75_bad.sql"] = "SEND CONVERSATION @h;\nGO\n"
    scripts[send] = scripts[send].replace("sc.ConversationKey =", "sc.ConversationKy =")
    scripts[log] = scripts[log].replace("[ErrorLog]", "[ErorLog]")
    known = frozenset(oracle_verdicts.stored().values())
    found = oracle_verdicts.judge(scripts, tmp_path, clean=known)
    bad = ("75_bad.sql", send, log)
    assert [line for line in found if not line.startswith(bad)] == []
    assert any(line.startswith("75_bad.sql:1:") for line in found)
    assert any(line.startswith(send) and "ConversationKy" in line for line in found)
    assert any(line.startswith(log) and "ErorLog" in line for line in found)

"""What the gate leaves out: what no night has passed is not, and the page tells all of it."""

from __future__ import annotations

import pytest

from redial_lab.nights import NIGHTLY, Ended, Nights, Outcome
from tests import conftest, left_out
from tests.left_out import Collected, page, rule, smaller
from tests.sampling import DONE, FULL, KEEPS, NIGHT, PART, turn

pytest_plugins = ("pytester",)

SUITE = """
import pytest

@pytest.mark.sampled(every=5, meets=("key",), last=False)
@pytest.mark.parametrize("key", ["a", "a", "b", "b", "b"], ids=["0", "1", "2", "3", "4"])
def test_family(key):
    pass

@pytest.mark.nightly("two minutes")
def test_for_the_night():
    pass

def test_for_the_gate():
    pass
"""
FAMILY = [f"test_suite.py::test_family[{case}]" for case in range(5)]
ALONE = "test_suite.py::test_for_the_night"


@pytest.fixture
def suite(pytester, monkeypatch):
    """A suite of three tests that has our conftest's choice, in a clone of its own."""
    pytester.makepyfile(test_suite=SUITE)
    (pytester.path / "evidence").mkdir()
    monkeypatch.setattr(conftest, "ROOT", pytester.path)
    for name in (FULL, PART, DONE, KEEPS, NIGHT):  # the night that runs this is none of its
        monkeypatch.delenv(name, raising=False)

    class Choice:
        pytest_collection_modifyitems = staticmethod(conftest.pytest_collection_modifyitems)

        @staticmethod
        def pytest_configure(config):
            for marker in ("sampled", "nightly"):
                config.addinivalue_line("markers", marker)

    def run(*arguments, **outcomes):
        plugins = [Choice(), *outcomes.get("plugins", ())]
        return pytester.inline_run("-p", "no:xdist", *arguments, plugins=plugins)

    return run


def passed(pytester, *ids):
    Nights().after([Outcome(Ended.PASSED, True, id) for id in ids], "1/1").write(
        pytester.path / NIGHTLY
    )


def ran(result):
    return {each.nodeid.partition("::test_")[2] for each in result.listoutcomes()[0]}


def test_where_no_night_has_passed_anything_all_of_it_runs(suite, pytester):
    passed(pytester)
    suite().assertoutcome(passed=7)


def test_where_no_night_is_known_nothing_is_new(suite):
    suite().assertoutcome(passed=3, skipped=1)


def test_what_a_night_has_passed_is_left_out_and_a_new_case_runs(suite, pytester):
    passed(pytester, *FAMILY, ALONE)
    result = suite()
    assert ran(result) == {"family[0]", "family[2]", "for_the_gate"}
    assert [skip.nodeid for skip in result.listoutcomes()[1]] == [ALONE]
    passed(pytester, *FAMILY[:3], ALONE)
    assert "family[3]" in ran(suite()) and "family[1]" not in ran(suite())
    passed(pytester, *FAMILY)
    assert "for_the_night" in ran(suite())


def test_at_night_a_third_of_what_is_left_out_runs_in_turns_and_all_where_all_is_asked_for(
    suite, pytester, monkeypatch
):
    passed(pytester, *FAMILY, ALONE)
    monkeypatch.setenv(FULL, "1")
    gate = {"family[0]", "family[2]", "for_the_gate"}
    others = {"family[1]", "family[3]", "family[4]", "for_the_night"}
    seen = []
    for night in ("6", "7", "8"):
        monkeypatch.setenv(NIGHT, night)
        found = ran(suite())
        assert found >= gate
        seen.append(found - gate)
    assert sorted(one for each in seen for one in each) == sorted(others)  # each once
    assert len([each for each in seen if each]) > 1
    passed(pytester, *FAMILY[:3], ALONE)
    assert ran(suite()) >= {"family[3]", "family[4]"}  # new ones
    monkeypatch.setenv(NIGHT, "all")
    suite().assertoutcome(passed=7)


def test_nights_that_run_a_part_each_come_to_every_turn_of_every_part(monkeypatch):
    met = set()
    for night in range(9):
        monkeypatch.setenv(NIGHT, str(night))
        part = f"{night % 3 + 1}/3"
        monkeypatch.setenv(PART, part)
        met.add((part, turn(3)))
    assert len(met) == 9


def test_a_part_that_goes_on_takes_the_turn_it_has_begun_with(suite, pytester, monkeypatch):
    passed(pytester, *FAMILY, ALONE)
    monkeypatch.setenv(FULL, "1")
    monkeypatch.setenv(NIGHT, "8")
    monkeypatch.setenv(PART, "1/1")
    before = ran(suite())
    done = pytester.path / "done"
    done.write_text("test_suite.py::test_family[0]\n")
    monkeypatch.setenv(DONE, str(done))
    assert ran(suite()) == before - {"family[0]"}


def test_the_page_tells_each_rule(suite, pytester):
    passed(pytester, *FAMILY, ALONE)
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_sizes.py").write_text(
        "ROWS = 1_000 if full() else 10\n"
        "def test_x():\n    if not full():\n        return\n    pytest.skip('a' if (not full()) else 'b|c')\n"
        "    until = 1 if x and not full() else 2\n"
        "    for each in range(0, 9, crash_stride(7)):\n        pass\n"
    )
    collected = Collected()
    suite("--collect-only", "-qqq", plugins=[collected])
    text = page(collected, pytester.path)
    assert "On the gate 3 of 7 tests run." in text
    assert "| test_suite.py::test_family | 5 | 2 | one of 5, each key |" in text
    assert "| test_suite.py::test_for_the_night | 1 | two minutes |" in text
    assert "| tests/test_sizes.py ROWS | 1000 | 10 |" in text
    assert "| tests/test_sizes.py test_x | asks: if not full(): ... |  |" in text
    assert "| tests/test_sizes.py until | asks: until = 1 if x and (not full()) else 2 |  |" in text
    assert "| tests/test_sizes.py test_x | kills at more places | one of 7 |" in text
    assert "| tests/test_sizes.py test_x | 'b\\|c' | 'a' |" in text


def test_a_family_that_is_run_whole_is_not_on_the_page(suite, pytester):
    passed(pytester)
    collected = Collected()
    suite("--collect-only", "-qqq", plugins=[collected])
    assert list(collected.families()) == []


@pytest.mark.parametrize(
    ("kept", "said"), [(True, "yet: has run"), (False, "yet: not known, there is no evidence/")]
)
def test_a_run_says_at_its_end_what_it_has_left_out(kept, said, suite, pytester, monkeypatch):
    """Quiet, as the command runs it."""
    if kept:
        passed(pytester)

    class Summary:
        pytest_terminal_summary = staticmethod(conftest.pytest_terminal_summary)

    result = pytester.runpytest_inprocess("-q", "-p", "no:xdist", plugins=[Summary()])
    assert f"what no night has passed {said}" in result.stdout.str()


def test_a_rule_in_words():
    assert rule(3) == "one of 3, the last"
    assert rule(every=2, meets=("key", "fault"), last=False) == "one of 2, each key, each fault"


def test_every_file_of_ours_can_be_read_for_the_page():
    asked = [
        place
        for path in (left_out.ROOT / "tests").rglob("*.py")
        for place in smaller(path, left_out.ROOT)
    ]
    assert any(place.where.endswith("test_exhausted.py TRANSITIONS") for place in asked)

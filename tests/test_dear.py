"""Which tests wait for --full because they cost much, and that the list is of tests there are."""

from __future__ import annotations

import json

from tests.dear import beyond, is_there, known, main


def test_of_a_file_the_cheapest_third_of_the_dear_ones_runs():
    costs = {"a.py::one": 1.0, "a.py::two": 2.0, "a.py::three": 3.0, "b.py::alone": 9.0}
    assert beyond(["a.py::cheap", *costs], costs) == {"a.py::two", "a.py::three"}


def test_a_third_is_rounded_up():
    costs = {f"a.py::{n}": float(n) for n in range(1, 5)}
    assert beyond(costs, costs) == {"a.py::3", "a.py::4"}


def test_one_that_is_marked_daily_is_not_among_those_and_costs_no_other_its_place():
    costs = {"a.py::one": 1.0, "a.py::two": 2.0, "a.py::three": 3.0}
    assert beyond(["a.py::one", "a.py::two"], costs) == {"a.py::two"}


def test_the_list_names_functions_that_are_there():
    """A test that was renamed runs every day, unmeasured, until somebody measures again."""
    assert [test for test in known() if not is_there(test)] == []


def test_what_a_run_measured_is_put_into_the_list_and_what_is_gone_leaves_it(
    tmp_path, monkeypatch, capsys
):
    here = "tests/test_dear.py::test_a_third_is_rounded_up"
    listed = tmp_path / "dear.json"
    listed.write_text(
        json.dumps({here: 4.0, "a.py::dear": 9.0, "tests/test_dear.py::test_gone": 2.0}), "utf-8"
    )
    monkeypatch.setattr("tests.dear.LIST", listed)
    (tmp_path / "costs.txt").write_text('0.10 "a.py::cheap"\n1.26 "a.py::dear[\\"x\\"]"\n', "utf-8")
    main(str(tmp_path / "costs.txt"))
    assert json.loads(listed.read_text("utf-8")) == {'a.py::dear["x"]': 1.3, here: 4.0}
    assert capsys.readouterr().out == (
        "1 of 2 tests cost 0.3 seconds or more; 1 others on the list were not run\n"
    )

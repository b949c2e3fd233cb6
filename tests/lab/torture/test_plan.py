"""Plans: the same seed is the same plan is the same run, and a plan survives being written down."""

from __future__ import annotations

import pytest

from redial.config import Config
from redial_broker.engine.switches import SWITCHES
from redial_lab.torture.draw import FIRST, SWITCH_NAMES, drawn, settings
from redial_lab.torture.nemesis import KINDS
from redial_lab.torture.plan import Plan
from redial_lab.torture.trial import run
from redial_lab.torture.trials import Order, chosen


def test_the_same_seed_draws_the_same_plan():
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_a_plan_survives_json():
    plan = drawn(7, messages=50)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("text", ["{}", "[]", '{"clients": [], "events": [], "more": 1}'])
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(ValueError, match="no plan"):
        Plan.from_json(text)


def test_every_setting_is_a_valid_configuration():
    assert all(Config.model_validate(data) for data in settings().values())
    assert sum(name.startswith("shipped-") for name in settings()) == 4
    assert any(name.endswith("two_databases") for name in settings())
    assert any(name.endswith("signing") for name in settings())


def test_every_switch_named_is_one_and_every_value_is_drawn():
    assert set(FIRST) <= set(SWITCH_NAMES) <= set(SWITCHES)
    plans = [drawn(seed, "hurried-audit", messages=1) for seed in range(200)]
    for name in SWITCH_NAMES:
        values = {plan.switches.get(name, SWITCHES[name].default) for plan in plans}
        assert values == set(SWITCHES[name].values), name


def test_every_kind_of_trouble_is_drawn():
    events = [event for seed in range(20) for event in drawn(seed, messages=1000).events]
    assert {event.kind for event in events} == set(KINDS)


def test_variants_are_chosen_by_words_or_by_name():
    assert chosen("") == tuple(settings())
    assert chosen("hurried-audit,hurried-etl") == ("hurried-audit", "hurried-etl")
    assert all("two_databases" in name for name in chosen("two_databases"))
    assert chosen("there is none") == ()


def test_variants_take_turns():
    order = Order(("hurried-audit", "hurried-etl"), seed=5, trials=4, messages=1)
    assert [(plan.seed, plan.name) for plan in order.plans()] == [
        (5, "hurried-audit"),
        (6, "hurried-etl"),
        (7, "hurried-audit"),
        (8, "hurried-etl"),
    ]


def test_a_plan_without_some_units_of_work_keeps_the_others():
    plan = drawn(3, messages=100)
    kept = plan.units[::3]
    assert plan.with_units(kept).units == kept
    assert plan.with_units([]).clients == ()


def test_the_same_plan_is_the_same_run_statement_by_statement():
    plan = drawn(2, "hurried-orders", messages=80, trouble=3.0)
    first, second = run(plan, record=True), run(plan, record=True)
    assert first.told == second.told
    assert first.journals == second.journals
    assert first.evidence == second.evidence

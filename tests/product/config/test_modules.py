"""``[modules]``: what is chosen by default, and what cannot be chosen together."""

import pytest
from pydantic import ValidationError

from redial.config import Config, load
from redial.config.sections import Modules
from redial.paths import CONFIGS

AUDIT = load(CONFIGS / "audit.toml").model_dump(by_alias=True, mode="json")
FOR_EVER = {"landing_days": 0, "log_days": 0, "dead_letter_days": 0}


def with_choices(**sections: dict) -> Config:
    """Configuration audit with other values in some sections."""
    return Config.model_validate(AUDIT | {k: AUDIT[k] | v for k, v in sections.items()})


def refused(**sections: dict) -> str:
    with pytest.raises(ValidationError) as caught:
        with_choices(**sections)
    return str(caught.value)


def test_pieces_are_left_out_and_retention_follows_the_days():
    assert with_choices().installed_modules == (
        *("core", "bulk", "monitor", "operate", "retention", "upgrade"),
    )
    assert "retention" not in with_choices(retention=FOR_EVER).installed_modules
    exactly_once = {"delivery": "exactly_once"}
    found = with_choices(retention=FOR_EVER, conversation=exactly_once).installed_modules
    assert "retention" in found, "the inbox would grow for ever"
    chosen = with_choices(retention=FOR_EVER, modules={"retention": True})
    assert "retention" in chosen.installed_modules


def test_etl_has_pieces_as_spark_writes_with_them():
    assert "pieces" in load(CONFIGS / "etl.toml").installed_modules


def test_the_core_alone_is_a_choice():
    nothing = dict.fromkeys(Modules.model_fields, False)
    assert with_choices(modules=nothing, retention=FOR_EVER).installed_modules == ("core",)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"modules": {"monitor": False}},
            "modules.operate: its procedures read what monitor shows",
        ),
        ({"modules": {"retention": False}}, "modules.retention: [retention] or exactly_once says"),
        (
            {
                "modules": {"monitor": False, "operate": False},
                "security": {"signing": "certificate"},
            },
            "security.signing: is part of the module monitor; allowed: none",
        ),
        (
            {
                "modules": {"monitor": False, "operate": False},
                "operations": {"notify_queue_off": True},
            },
            "operations.notify_queue_off: is part of the module monitor; allowed: false",
        ),
        (
            {
                "modules": {"monitor": False, "operate": False},
                "operations": {"agent_job": True, "alert_queue_off": True},
            },
            "operations.alert_queue_off: is part of the module monitor; allowed: false",
        ),
        ({"modules": {"monitr": True}}, "modules.monitr"),
        ({"modules": {"core": False}}, "modules.core"),
    ],
)
def test_what_does_not_go_together_is_named_with_what_is_allowed(sections, said):
    assert said in refused(**sections)

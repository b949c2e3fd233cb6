"""Every maintenance procedure explains itself, and those that end or remove show by default."""

import re

import pytest

from tests.installed import rendered

from .lab import AUDIT, Lab

PROCEDURES = {
    name.split("_", 1)[1].split(".")[0].lstrip("0123456789_"): text
    for name, text in rendered(AUDIT).items()
    if name.startswith("78_") and "@Help bit = 0" in text
}
DESTROYS = (
    "usp_Drain",
    "usp_EndLeaked",
    "usp_RetireIdle",
    "usp_ReplayDeadLetter",
    "usp_MarkDeadLetter",
    "usp_PurgeDeadLetter",
    "usp_PurgeLogs",
    "usp_PurgeSendLedger",
)


@pytest.fixture(scope="module")
def lab():
    return Lab()


@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_help_names_every_parameter_gives_an_example_and_does_nothing(lab, name):
    given = re.findall(r"^    (@\w+) ", PROCEDURES[name].split("WITH EXECUTE AS")[0], re.M)
    lab.sa.execute("BEGIN TRANSACTION;")  # where the procedure itself would refuse to run
    assert lab.sa.execute(f"EXECUTE audit.{name} @Help = 1;") == []
    printed = "\n".join(m.text for m in lab.sa.out.messages)
    lab.sa.execute("COMMIT;")
    assert name in printed and "EXECUTE" in printed
    for parameter in given:
        assert parameter in printed or parameter == "@Help", parameter


@pytest.mark.parametrize("name", DESTROYS)
def test_what_ends_or_removes_shows_by_default(name):
    assert re.search(r"@WhatIf bit = 1\b", PROCEDURES[name])
    assert re.search(r"@Debug bit = 0\b", PROCEDURES[name])


def test_a_name_in_the_help_is_quoted_like_any_other():
    strange = AUDIT.model_copy(update={"schema_name": "au'di]t"})
    text = rendered(strange)["78_03_usp_Drain.procedure.sql"]
    assert "EXECUTE [au''di]]t].[usp_Drain]" in text

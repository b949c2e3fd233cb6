"""What a search is remembered by: the T-SQL it can reach, wherever the files have their place."""

from __future__ import annotations

import pytest

from redial.paths import TEMPLATES
from redial_lab.proof import installed
from redial_lab.proof.audit_setups import small_config


@pytest.fixture
def rendering(monkeypatch):
    """The files of the small configuration, to change before they are looked at."""
    files = installed.render(small_config())
    monkeypatch.setattr(installed, "render", lambda config, mutant=None: dict(files))
    return files


def essence() -> str:
    return installed._essence(small_config(), None)


def test_the_numbers_of_an_area_and_of_a_file_do_not_count(rendering):
    before = essence()
    rendering["73_05_usp_Send.procedure.sql"] = rendering.pop("72_03_usp_Send.procedure.sql")
    rendering["67_usp_SendEndOfStream.procedure.sql"] = rendering.pop(
        next(name for name in rendering if "usp_SendEndOfStream" in name)
    )
    assert essence() == before


def test_a_comment_and_what_nobody_calls_do_not_count(rendering):
    before = essence()
    text = rendering["72_03_usp_Send.procedure.sql"]
    rendering["72_03_usp_Send.procedure.sql"] = text.replace("BEGIN", "/* said */ BEGIN", 1)
    rendering["99_usp_Nobody.procedure.sql"] = (
        "CREATE PROCEDURE [audit].[usp_Nobody] AS RETURN 0;\n"
    )
    assert essence() == before


@pytest.mark.parametrize("name", ["72_03_usp_Send.procedure.sql", "83_priorities.priority.sql"])
def test_a_word_of_what_is_reached_counts(rendering, name):
    before = essence()
    rendering[name] += "PRINT N'x';\n"
    assert essence() != before


def test_every_search_stands_on_these_areas():
    """A number that no area has any more would leave out what it was meant for."""
    areas = {path.name for path in TEMPLATES.glob("*/*") if path.name[:2] in installed.ALWAYS}
    assert areas == {
        *("10_database", "40_contract", "50_queues", "60_services", "62_dialog_security"),
        *("75_hook", "76_pool", "83_priorities", "87_activation"),
    }
    assert len(areas) == len(installed.ALWAYS)

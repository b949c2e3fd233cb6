"""What ``invoke bench --what cost`` counts: how the designs compare, not how fast anything is."""

from __future__ import annotations

import pytest

from redial_lab.bench.cost import KINDS, STAGES, costs, main, total
from redial_lab.proof.designs import DESIGNS


@pytest.fixture(scope="module")
def counted():
    return {design: costs(design) for design in DESIGNS}


@pytest.fixture(scope="module")
def totals(counted):
    return {design: total(found) for design, found in counted.items()}


def more(totals, design, base="queue_only"):
    """What a message costs more than under another design."""
    return {
        kind: totals[design][kind] - totals[base][kind]
        for kind in KINDS
        if totals[design][kind] != totals[base][kind]
    }


def test_a_message_kept_in_queues_only_is_written_twice_and_deleted_once(totals):
    """Into the target's queue and into Landing."""
    plain = totals["queue_only"]
    assert (plain["queue rows inserted"], plain["queue rows deleted"]) == (1, 1)
    assert (plain["rows inserted"], plain["rows changed"], plain["rows deleted"]) == (1, 0, 0)
    assert plain["bodies stored"] == 2


def test_a_copy_is_one_row_more_that_is_written_and_deleted(totals):
    """And one row is changed: the count of the dialog, which says the copy's number."""
    found = more(totals, "copies")
    assert found["rows inserted"] == found["rows deleted"] == found["rows changed"] == 1
    assert found["bodies stored"] == 1
    assert set(found) == {
        "statements",
        "locks",
        "rows inserted",
        "rows changed",
        "rows deleted",
        "rows read",
        "bodies stored",
        "bodies in table variables",
    }


def test_the_copy_is_written_by_the_send_and_deleted_by_the_landing(counted):
    """Nothing is left to do for it when the dialog ends."""
    plain, copies = counted["queue_only"], counted["copies"]
    inserted = {
        stage: copies[stage].each["rows inserted"] - plain[stage].each["rows inserted"]
        for stage in STAGES
    }
    deleted = {
        stage: copies[stage].each["rows deleted"] - plain[stage].each["rows deleted"]
        for stage in STAGES
    }
    assert inserted == {"send": 1, "land": 0, "recycle": 0}
    assert deleted == {"send": 0, "land": 1, "recycle": 0}
    assert set(copies["recycle"].each.values()) == {0}


def test_retention_is_one_row_more_in_a_queue_that_goes_when_the_dialog_ends(counted, totals):
    found = more(totals, "retained", "protocol_only")
    assert found["queue rows inserted"] == found["queue rows deleted"] == 1
    assert found["bodies stored"] == 1
    assert counted["retained"]["recycle"].each["queue rows deleted"] == 1


def test_the_protocol_alone_stores_no_body_more(totals):
    """An entry more in an index of Landing (its lock is counted), and a read of each at the end."""
    assert more(totals, "protocol_only") == {"locks": 1, "rows read": 1}


def test_a_body_goes_through_tempdb_once_and_went_twice_in_what_was_frozen(totals):
    """From the queue straight into Landing; the designs to compare with numbered all rows first."""
    through = {design: found["bodies in table variables"] for design, found in totals.items()}
    assert through.pop("copies") == 1
    assert set(through.values()) == {2}


def test_the_counts_are_the_same_in_every_run(counted):
    assert costs("copies") == counted["copies"]


def test_every_figure_has_a_name_of_its_own():
    told = []
    found = main(told.append, ["retained"])
    assert len(found) == len(STAGES) * len(KINDS) * 2
    assert all(name.startswith("cost.retained.") for name in found)
    assert all("embedded broker" in line for line in told)

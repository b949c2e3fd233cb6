"""Dates and times with seven digits of a second: they order, move, round and copy by units of 100 ns."""

import copy
import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.seventh_digit import (
    PER_SECOND,
    at,
    cut,
    digits_of,
    fine,
    fraction,
    moved,
    rounded,
    seventh_digit,
    units_between,
    with_fraction,
)

START = datetime(2026, 1, 1)
UNITS = st.integers(-(10**15), 10**15)
NEAR = st.integers(-40, 40)


@given(UNITS, NEAR)
def test_moments_order_as_their_units_of_100_ns_do(units, more):
    one, two = moved(START, units), moved(START, units + more)
    assert (one < two, one <= two, one == two, one != two, one > two, one >= two) == (
        more > 0,
        more >= 0,
        more == 0,
        more != 0,
        more < 0,
        more <= 0,
    )
    assert units_between(one, two) == more
    assert (hash(one) == hash(two)) == (more == 0)


@given(st.lists(UNITS | NEAR))
def test_a_mixed_list_sorts_by_units(units):
    moments = [moved(START, each) for each in units]
    assert [units_between(START, each) for each in sorted(moments)] == sorted(units)
    assert len(set(moments)) == len(set(units))


@given(st.integers(0, PER_SECOND - 1), st.integers(0, PER_SECOND - 1))
def test_times_order_as_their_fraction_does(one, two):
    clock = time(13, 5, 9)
    assert (with_fraction(clock, one) < with_fraction(clock, two)) == (one < two)
    assert (with_fraction(clock, one) == with_fraction(clock, two)) == (one == two)
    assert fraction(with_fraction(clock, one)) == one
    assert digits_of(with_fraction(clock, one)) == f"{one:07}"


@given(UNITS)
def test_a_value_keeps_its_digit_on_every_way_round(units):
    moment = moved(START, units)
    digit = seventh_digit(moment)
    assert digit == units % 10
    there = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert seventh_digit(there) == digit and there == moment.replace(tzinfo=UTC)
    assert at(moment.date(), moment.time()) == moment
    assert moment + timedelta(days=1) - timedelta(days=1) == moment
    assert pickle.loads(pickle.dumps(moment)) == moment == copy.deepcopy(moment)
    assert pickle.loads(pickle.dumps(moment.time())) == moment.time()
    assert moment.replace(year=2031).replace(year=moment.year) == moment


def test_a_new_microsecond_takes_the_digit_away():
    moment, clock = moved(START, 7), moved(START, 7).time()
    assert type(moment.replace(microsecond=3)) is datetime
    assert type(clock.replace(microsecond=3)) is time
    assert type(moment.replace(2026, 1, 1, 0, 0, 0, 3)) is datetime
    assert type(clock.replace(0, 0, 0, 3)) is time


def test_a_digit_of_0_is_a_plain_value():
    """Otherwise one value would have two forms, and the hash of a state could tell them apart."""
    assert type(moved(moved(START, 7), 3)) is datetime
    assert type(fine(moved(START, 7), 0)) is datetime
    assert type(fine(moved(START, 7).time(), 0)) is time
    assert repr(moved(START, 7)) == repr(moved(moved(START, 6), 1)) != repr(moved(START, 8))


@pytest.mark.parametrize(
    ("units", "digits", "kept"),
    [(15, 7, 15), (15, 6, 20), (14, 6, 10), (9_999_999, 3, 10_000_000), (4_999_999, 0, 0)],
)
def test_half_way_is_rounded_up(units, digits, kept):
    assert rounded(moved(START, units), digits) == moved(START, kept)


def test_what_is_cut_is_not_rounded():
    assert cut(moved(START, 9_999_999), 3) == moved(START, 9_990_000)
    assert cut(moved(START, 9_999_999).time(), 0) == time()


def test_it_is_equal_to_nothing_else():
    assert moved(START, 7) != 7 and moved(START, 7) != date(2026, 1, 1)
    assert moved(START, 7).time() != moved(START, 7)

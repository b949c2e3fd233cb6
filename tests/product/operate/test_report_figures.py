"""What a report makes of rows: sums that agree or do not, bins, latencies, pictures that are true."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from redial.charts import Series, picture, step_of, ticks, time_marks
from redial.config import Config, load
from redial.operate.doctor import Status
from redial.operate.report import asking
from redial.operate.report.accounts import accounting
from redial.operate.report.asking import Copy, Dead, Dialog, Facts, Landed
from redial.operate.report.flow import BINS, empty, share, throughput
from redial.operate.report.life import dead_letters, life
from redial.operate.report.model import Section, how_long
from redial.paths import CONFIGS
from redial_lab.scenarios.client_load import Sample

AUDIT = load(CONFIGS / "audit.toml")
EVENT = AUDIT.message_types[0].name
HOUR = 3_600_000
NOW = 1_800_000_000_000
DAY_AGO = NOW - 24 * HOUR
OVER = Dialog("A", False, NOW - 3 * HOUR, NOW - 2 * HOUR, NOW - HOUR, 3, 0, 0, 0, None)


def configured(**sections) -> Config:
    data = AUDIT.model_dump(by_alias=True, mode="json")
    return Config.model_validate(data | {name: data[name] | own for name, own in sections.items()})


def landed(conversation: str = "A", count: int = 3, at: int = NOW - HOUR, took: int | None = 20):
    """Rows of one dialog, the newest first."""
    return [
        Landed(conversation, n, True, at + n, None if took is None else at + n - took)
        for n in reversed(range(count))
    ]


def facts(**given) -> Facts:
    """All that landed of one dialog that has ended."""
    whole = {"dialogs": [OVER], "waiting": [], "landed": landed(), "dead": [], "purged": {}}
    return Facts(NOW, DAY_AGO, **(whole | given))


def dead(count: int = 1, **given) -> Dead:
    one = Dead("A", "target", EVENT, 50001, None, False, count, NOW - HOUR, NOW - HOUR, "no")
    return one._replace(**given)


def rows(section: Section, table: str) -> dict[object, tuple]:
    """Of a table, by their first cell."""
    [found] = [one for one in section.tables if one.name == table]
    return {row[0]: row[1:] for row in found.rows}


# --- accounting --------------------------------------------------------------------------------


def test_what_was_sent_has_landed_and_the_sums_agree():
    section = accounting(AUDIT, facts())
    assert section.status == Status.CLEAN
    assert section.said[0] == "3 messages sent on 1 dialog that ended: every one is accounted for"
    sums = rows(section, "sums")
    assert sums["sent"][0] == sums["landed"][0] == sums["sum"][0] == 3
    assert sums["missing"][0] == sums["more than sent"][0] == 0


def test_a_message_that_is_nowhere_is_to_act_on_and_its_dialog_is_named():
    section = accounting(AUDIT, facts(landed=landed(count=1)))
    assert section.status == Status.ACT_NOW
    assert (
        section.said[0] == "2 messages not accounted for, of 3 messages sent on 1 dialog that ended"
    )
    assert rows(section, "sums")["missing"][0] == 2
    assert rows(section, "missing")["A"][-1] == 2


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"waiting": [Copy("A", 2, NOW - HOUR)]},
        {"dead": [dead()]},
        {"dialogs": [OVER._replace(dead=1)]},
        {"dialogs": [OVER._replace(resent=1)]},
    ],
    ids=["waiting", "dead at the target", "dead at the sender", "sent again"],
)
def test_a_message_that_has_not_landed_is_accounted_for_wherever_it_is(elsewhere):
    assert accounting(AUDIT, facts(landed=landed(count=2), **elsewhere)).status == Status.CLEAN


@pytest.mark.parametrize("other", [dead(side="initiator"), dead(type="EndOfStream")])
def test_a_dead_letter_that_is_counted_elsewhere_or_is_no_callers_accounts_for_nothing(other):
    assert accounting(AUDIT, facts(landed=landed(count=2), dead=[other])).status == Status.ACT_NOW


def test_two_dialogs_do_not_make_up_for_each_other():
    """One has landed a message twice, the other has lost one: the totals would agree."""
    other = OVER._replace(conversation="B", messages=1)
    section = accounting(AUDIT, facts(dialogs=[OVER, other], landed=landed(count=4)))
    sums = rows(section, "sums")
    assert sums["sent"][0] == sums["sum"][0] == 4
    assert section.status == Status.ACT_NOW
    assert (sums["missing"][0], sums["more than sent"][0]) == (1, 1)


def test_a_dialog_that_has_not_ended_is_not_judged_and_that_is_said():
    moving = OVER._replace(ended=None)
    section = accounting(AUDIT, facts(dialogs=[moving], landed=[]))
    assert section.status == Status.CLEAN
    assert "no dialog that can be judged has ended" in section.said[0]
    assert "Open, ending, or ended by hand: 1 dialog." in " ".join(section.said)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"purged": {asking.LANDING_PURGED: NOW - HOUR}}, "landed rows were purged, last 20"),
        ({"purged": None}, "nobody may say whether landed rows were purged"),
        ({"landed_cut": True}, "only the newest 200,000 rows of Landing were read"),
    ],
)
def test_of_a_time_whose_landed_rows_are_gone_nothing_is_judged_and_why_is_said(given, why):
    old = OVER._replace(conversation="B", begun=NOW - 2 * HOUR - 1)
    left = landed("A", 3, NOW - 2 * HOUR)
    young = OVER._replace(begun=NOW - 2 * HOUR)
    section = accounting(AUDIT, facts(dialogs=[young, old], landed=left, **given))
    assert section.status == Status.CLEAN and "3 messages sent on 1 dialog" in section.said[0]
    assert "Not judged: 1 dialog begun before 20" in " ".join(section.said)
    assert why in " ".join(section.said)
    assert accounting(AUDIT, facts(dialogs=[young, old], landed=left)).status == Status.ACT_NOW


@pytest.mark.parametrize(
    ("given", "config", "words"),
    [
        ({"purged": {asking.LETTERS_PURGED: NOW}}, AUDIT, "they may be dead letters that are gone"),
        ({"dead_cut": True}, AUDIT, "or were not read"),
        (
            {},
            configured(conversation={"delivery": "exactly_once"}),
            "they may be repeats, which the target drops",
        ),
    ],
)
def test_a_gap_that_may_have_a_harmless_cause_is_to_look_at(given, config, words):
    section = accounting(config, facts(landed=landed(count=2), **given))
    assert section.status == Status.WARNINGS and words in section.said[0]


@pytest.mark.parametrize("dialogs", [[OVER], []])
def test_what_landed_on_dialogs_nobody_knows_is_to_look_at_unless_the_log_was_purged(dialogs):
    given = {"dialogs": dialogs, "landed": landed("A", 3 if dialogs else 0) + landed("B", 2)}
    section = accounting(AUDIT, facts(**given))
    assert section.status == Status.WARNINGS
    assert section.said[0] == "2 messages landed on dialogs that ConversationLog does not have"
    section = accounting(AUDIT, facts(purged={asking.LOGS_PURGED: NOW}, **given))
    assert section.status == Status.CLEAN
    assert "does not have landed: 2. It was purged, last 20" in " ".join(section.said)
    young = facts(landed=landed() + landed("B", 2, at=NOW))
    assert accounting(AUDIT, young).status == Status.CLEAN, "begun since ConversationLog was read"


def test_a_part_that_was_not_seen_makes_no_sum_and_the_others_are_shown():
    section = accounting(AUDIT, facts(landed=None))
    assert section.said[0].startswith("Not to be made")
    parts = rows(section, "parts")
    assert parts["sent"] == (3,) and parts["landed"] == (None,)


# --- throughput and latency --------------------------------------------------------------------


def test_bins_are_of_a_width_that_is_said_and_hold_every_message():
    section = throughput(AUDIT, facts())
    assert "Each bin is 1 h wide." in section.said
    bins = [row for row in section.tables[0].rows if row[2]]
    [(_, _, count, _, so_far, _, _)] = bins
    assert count == so_far == 3


@pytest.mark.parametrize("seconds", [1, 7, 90, 3600, 86_400, 30 * 86_400, 366 * 86_400])
def test_a_period_has_no_more_bins_than_fit_and_the_last_one_holds_now(seconds):
    flow = empty(NOW - seconds * 1000, NOW)
    assert len(flow.bins) <= BINS + 1
    assert flow.bins[0].begin <= NOW - seconds * 1000
    assert flow.bins[-1].begin < NOW <= flow.bins[-1].begin + flow.width


def test_landed_is_never_above_sent_whatever_the_clocks_say():
    """Landed before it was sent, sent before the period, without a time, and still waiting."""
    some = [
        Landed("A", 0, True, NOW - 5 * HOUR, NOW - 4 * HOUR),
        Landed("A", 1, True, NOW - 6 * HOUR, DAY_AGO - HOUR),
        Landed("A", 2, True, NOW - 7 * HOUR, None),
        Landed("A", 3, True, DAY_AGO - 1, DAY_AGO - 2),
    ]
    section = throughput(AUDIT, facts(landed=some, waiting=[Copy("B", 0, NOW - 2 * HOUR)]))
    pairs = [(sent, landed) for _, _, _, sent, landed, _, _ in section.tables[0].rows]
    assert all(sent >= landed for sent, landed in pairs)
    assert pairs[-1] == (4, 3), "the fourth landed before the period, one waits"
    said = " ".join(section.said)
    assert "Landed before sent, by these clocks: 1." in said
    assert "Sent before this period: 1." in said
    assert "Without a time of sending, counted as sent when landed: 1." in said


def test_a_copy_of_what_has_landed_is_not_sent_twice():
    """In two databases the sender hears of it later."""
    section = throughput(AUDIT, facts(waiting=[Copy("A", 0, NOW - HOUR)]))
    assert section.tables[0].rows[-1][3] == 3


def test_latency_is_told_in_shares_and_without_a_time_it_is_not_known_and_why():
    said = " ".join(throughput(AUDIT, facts()).said)
    assert "half within 20 ms" in said and "99 of 100 within 20 ms" in said
    bare = configured(envelope={"who": False})
    section = throughput(bare, facts(landed=landed(took=None)))
    assert "Latency is not known" in " ".join(section.said)
    assert (
        section.tables[0].rows[-1][3] is None
        and "sent" not in section.pictures.split("<svg")[1][:300]
    )


def test_shares_are_of_values_that_were_seen():
    values = [1, 2, 3, 4]
    assert [share(values, part) for part in (0.25, 0.5, 0.9, 1)] == [1, 2, 4, 4]
    assert share([], 0.5) is None


def test_a_run_without_times_is_drawn_from_what_was_watched():
    """Two messages are lost: at the end sent stays above landed."""
    bare = configured(envelope={"who": False})
    watched = [Sample(0.2, 0, 0, {}), Sample(1.0, 6, 5, {}), Sample(3.0, 10, 8, {})]
    given = replace(facts(landed=landed(took=None)), since=NOW - 3000)
    section = throughput(bare, given, watched)
    pairs = [(sent, landed) for _, _, _, sent, landed, _, _ in section.tables[0].rows]
    assert all(sent >= landed for sent, landed in pairs) and pairs[-1] == (10, 8)


def test_what_a_hook_takes_is_not_called_lost():
    hooked = facts(landed=None, hooked=True)
    assert accounting(AUDIT, hooked).status == throughput(AUDIT, hooked).status == Status.CLEAN
    assert "Not to be made: usp_ProcessMessage" in accounting(AUDIT, hooked).said[0]


# --- dialogs and dead letters ------------------------------------------------------------------


def test_dialogs_are_counted_by_what_became_of_them_and_codes_with_a_reason():
    failed = OVER._replace(conversation="B", code=-8489, reason="lifetime")
    young = OVER._replace(conversation="C", ended=None, end_of_stream=None, messages=None)
    section = life(facts(dialogs=[OVER, failed, young]), [])
    assert section.said[0].startswith("2 dialogs recycled in 1 d, 0.1 an hour; 3 begun, 2 ended")
    assert "the oldest begun 3 h ago" in " ".join(section.said)
    assert rows(section, "codes")[-8489][0] == 1 and rows(section, "codes")[-8489][2] == "lifetime"
    assert sum(row[1] for row in rows(section, "bins").values()) == 2


def test_dead_letters_that_nobody_has_handled_are_to_act_on():
    section = dead_letters(facts(dead=[dead(2), dead(5, handled=True)]))
    assert section.status == Status.ACT_NOW and section.said == ("2 unhandled, 5 handled",)
    assert rows(section, "letters")["target"][:4] == (50001, EVENT, 2, 5)
    assert dead_letters(facts(dead=[dead(handled=True)])).status == Status.CLEAN
    assert dead_letters(facts()).said == ("There is none",)


def test_the_same_rows_in_another_order_are_the_same_report():
    some = [dead(2), dead(1, code=None), dead(3, side="initiator", reason="x"), dead(3, code=7)]
    dialogs = [
        OVER._replace(conversation=name, code=number) for name, number in zip("BAC", (1, 2, 3))
    ]
    one = facts(dialogs=dialogs, dead=some, landed=landed("A") + landed("B", 2))
    two = facts(dialogs=dialogs[::-1], dead=some[::-1], landed=(landed("A") + landed("B", 2))[::-1])
    for section in (lambda f: accounting(AUDIT, f), lambda f: throughput(AUDIT, f), dead_letters):
        assert section(one) == section(two)
    assert life(one, []) == life(two, [])


# --- pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [0, 1, 3, 7, 19, 100, 101, 2_345, 999_999, 10**12])
def test_ticks_are_whole_numbers_from_0_to_the_top_or_above(top):
    found = ticks(top)
    assert found[0] == 0 and found[-1] >= top and 2 <= len(found) <= 6
    assert all(value == int(value) for value in found)


def test_marks_of_time_lie_inside_and_are_what_a_clock_shows():
    marks = time_marks(NOW / 1000 - 90, NOW / 1000)
    assert 4 <= len(marks) <= 7
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d", words) for _, words in marks)
    assert all(NOW / 1000 - 90 <= at <= NOW / 1000 for at, _ in marks)
    assert all(re.fullmatch(r"\d\d-\d\d", words) for _, words in time_marks(0, 30 * 86_400))
    assert step_of(86_400, 24) == 3600


def test_a_picture_is_xml_says_what_it_shows_and_holds_no_word_as_markup():
    lines = [Series("<b>", [(0, 0), (10, 5)]), Series("bars", [(0, 3), (5, 0)], 5)]
    drawn = picture('a "title" <script>', "said & done", lines, 0, 10, ("UTC", "messages"))
    figure = ElementTree.fromstring(drawn)
    svg = figure.find("svg")
    assert svg is not None and svg.get("role") == "img"
    assert svg.get("aria-label") == 'a "title" <script>. said & done'
    words = [one.text for one in svg.iter("text")]
    assert "<b>" in words and "messages" in words and {"0", "2", "4", "6"} <= set(words)
    assert not [word for word in words if word and "10^" in word]


def test_of_two_lines_the_greater_value_is_drawn_higher():
    lines = [Series("sent", [(0, 0), (10, 8)]), Series("landed", [(0, 0), (10, 4)])]
    drawn = picture("t", "s", lines, 0, 10, ("x", "y"))
    ends = [float(one) for one in re.findall(r'class="line c\d" d="M\S+ \S+L\S+ ([\d.]+)"', drawn)]
    assert len(ends) == 2 and ends[0] < ends[1], "y grows downwards"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, None),
        (20, "20 ms"),
        (-5, "-5 ms"),
        (1_500, "1.5 s"),
        (90_000, "1 min 30 s"),
        (-3_600_000, "-1 h"),
        (10 * 86_400_000 + 7_200_000, "10 d 2 h"),
    ],
)
def test_lengths_of_time_are_in_units_one_says(milliseconds, words):
    assert how_long(milliseconds) == words

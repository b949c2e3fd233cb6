"""The audit as a whole: totals, exit status, table and page."""

from __future__ import annotations

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from rich.console import Console

from redial.spark.audit import audit, configuration, show
from redial.spark.audit_page import write_page
from redial.spark.audit_report import Profile, Report
from redial.spark.distributions import ERROR, bucket_of, quantiles, upper_edge
from redial.spark.errors import PipelineError
from redial.spark.judging import Rules, conversations, named
from tests.spark.pipeline.logs import LANDED, LOG, START, moment

N = 40


def row(dialog, number, second, kind="event", latency=None, message_id=None):
    sent = None if latency is None else moment(second) - timedelta(milliseconds=latency)
    return (dialog, number, kind, moment(second), sent, None, None, message_id)


@pytest.fixture(scope="module")
def report(spark) -> Report:
    """A: whole, 0.1 s a message. B: number 3 lost, 5 twice. C: open. D: resent from B, same ids."""
    landed = [row("A", n, n, latency=100, message_id=f"a{n}") for n in range(N)]
    landed.append(row("A", N, N, "EndOfStream"))
    landed += [row("B", n, 20 + n, latency=1000, message_id=f"b{n}") for n in range(9) if n != 3]
    landed += [row("B", 5, 31, latency=1000, message_id="b5"), row("B", 9, 40, "EndOfStream")]
    landed += [row("C", n, n, latency=0) for n in range(5)]
    landed += [row("D", 0, 41, latency=9000, message_id="b8"), row("D", 1, 41, "EndOfStream")]
    log = [
        ("hA", "A", "k", None, START, moment(N), moment(50), N, None),
        ("hB", "B", "k", None, moment(15), moment(60), moment(61), 9, None),
        ("hC", "C", "other", None, START, None, None, None, None),
        ("hD", "D", None, "hB", moment(41), moment(41), moment(42), 1, None),
        ("hE", None, "k", None, moment(41), None, None, None, None),
    ]
    return audit(
        spark.createDataFrame(landed, LANDED), spark.createDataFrame(log, LOG), label="made up"
    )


def test_totals(report):
    assert (report.lost, report.repeated, report.resent, report.late) == (1, 1, 1, 0)
    assert (report.conversations, report.complete, report.open) == (4, 3, 1)
    assert (report.unlogged, report.unnamed, report.suspects) == (0, 1, 1)
    assert report.landed == N + 1 + 10 + 5 + 2
    (worst,) = report.worst
    assert (worst.name, worst.lost, worst.missing()) == ("B", 1, "3")


def test_a_loss_is_exit_status_1_and_a_repeat_only_when_strict():
    assert Report(lost=1).status() == 1 and not Report(lost=1).clean
    assert Report(repeated=1).status() == 0 and Report(repeated=1).status(strict=True) == 1
    assert Report(lost=2, dropped=2).status() == 0, "the target refused two repeats"
    assert Report().status(strict=True) == 0


def test_latency_ages_and_overlaps(report):
    profile = report.profile
    assert 100 <= profile.quantiles["median"] <= 100 * (1 + ERROR)
    assert profile.quantiles["greatest"] == 9000
    assert sum(n for _, n in profile.times) == N + 9 + 5 + 1
    assert profile.age_quantiles["greatest"] == 45, "B; a resend is no recycled dialog"
    assert (profile.overlaps, profile.longest_overlap) == (1, N - 20)


def test_a_dialog_is_chosen_by_its_begin(spark):
    landed = spark.createDataFrame([row(name, 1, 1) for name in "AB"], LANDED)
    log = spark.createDataFrame(
        [
            ("hA", "A", None, None, START, None, moment(5), 2, None),
            ("hB", "B", None, None, moment(100), None, moment(105), 2, None),
        ],
        LOG,
    )
    (found,) = conversations(named(landed), log, None, Rules(since=moment(50))).collect()
    assert (found.conversation, found.lost) == ("B", 1)
    with pytest.raises(PipelineError, match="need ConversationLog"):
        audit(landed, rules=Rules(until=moment(50)))


def test_a_missing_column_is_named(spark):
    with pytest.raises(PipelineError, match=r"column sequence: is not among .*MessageSequence"):
        named(spark.createDataFrame([("a", "b")], "ConversationId string, type string"))


def test_the_table_says_what_the_page_says(report, tmp_path):
    console = Console(record=True, width=120)
    show(console, report)
    text = console.export_text()
    assert "LOSS: 1 messages were sent and are nowhere" in text
    page = write_page(report, tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "LOSS: 1 messages" in page and page.count("<svg") == 3
    assert not re.search(r"(src|href)=['\"]http", page), "nothing is fetched"
    for name in ("landed", "lost", "repeated", "latency, 99 %"):
        figure = re.search(rf"<th>{name}</th><td class='n[^>]*>([^<]+)", page)[1]
        assert re.search(rf"{name}\s+│\s+{re.escape(figure)}\s", text), name
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        ElementTree.fromstring(svg)
    assert page == write_page(report, tmp_path / "again.html").read_text(encoding="utf-8")


def test_a_page_says_of_which_server_it_is_how_wide_a_bin_is_and_has_plain_numbers(tmp_path):
    times = [(moment(0), 5), (moment(10), 0), (moment(20), 7)]
    sizes = [(2.0, 1), (20.0, 4), (200.0, 1)]
    about = {"server": "sql1 <b>", "what it is": "embedded broker, not SQL Server"}
    report = Report(about=about, profile=Profile(times=times, latencies=sizes, ages=sizes))
    page = write_page(report, tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "sql1 &lt;b&gt;" in page and "embedded broker, not SQL Server" in page
    assert "Messages landed in each 10 s" in page and "12 in all, at most 7 in one bin" in page
    marks = re.findall(r'class="m">([^<]*)</text>', page)
    assert {"1", "10", "100", "1,000"} <= set(marks) and "10^" not in page
    assert "Half are at most 20 milliseconds" in page


def test_what_landed_within_one_second_has_its_picture_too(tmp_path):
    report = Report(about={}, profile=Profile(times=[(moment(0), 5)]))
    page = write_page(report, tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Messages landed in each 1 s" in page and "5 in all, at most 5 in one bin" in page


def test_a_quantile_is_at_most_a_buckets_width_too_high():
    sizes = [0, 1, 7, 40, 41, 900, 1234, 5678, 99_999, 1_000_000]
    counted = sorted((bucket_of(size), 1) for size in sizes)
    found = quantiles(counted, max(sizes))
    assert 41 <= found["median"] <= 41 * (1 + ERROR) and found["greatest"] == 1_000_000
    for size in sizes[3:]:
        assert size <= upper_edge(bucket_of(size)) <= size * (1 + ERROR) * 1.0001


def test_a_configuration_that_is_not_there_is_named():
    with pytest.raises(PipelineError, match="configuration nope"):
        configuration("nope")

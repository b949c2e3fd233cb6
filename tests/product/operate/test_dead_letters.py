"""``redial deadletters`` on a server: causes, and what a filter's letters come to."""

from __future__ import annotations

import json

import pytest

from redial.cli.dead_letters import deadletters
from redial.deploy import apply
from redial.operate.dead_letters import statement
from redial.server import with_database
from tests.product.deploy.conftest import logged_in_as, run, status_of, two_databases
from tests.product.sql.letters import COLUMNS, letter

from .test_doctor import AUDIT, PASSWORD, in_two, operator

__all__ = ["operator"]
pytestmark = pytest.mark.driver
LEFT = "SELECT DeadLetterId FROM audit.DeadLetter WHERE HandledUtc IS NULL ORDER BY 1;"


def put(server: str, *letters: str) -> None:
    run(server, f"INSERT INTO audit.DeadLetter ({COLUMNS}) VALUES {', '.join(letters)};")


@pytest.fixture
def three(site):
    """Letters 1 and 2 of one cause, 3 of another, whose reason would break a line."""
    put(site.server, letter(reason="Order 7"), letter(reason="Order 8"), letter(245, "a\nb"))
    return site


def says(capsys, server: str, *verbs: str, **options) -> tuple[int, str]:
    """Exit status, and all that is said."""
    capsys.readouterr()
    status = status_of(deadletters, server=server, verbs=verbs, **options)
    out, err = capsys.readouterr()
    return status, out + err


def test_the_causes_are_listed_the_biggest_first_each_in_lines_of_its_own(three, operator, capsys):
    status, said = says(capsys, operator)
    assert status == 0, said
    first, second = (
        said.index("2 unhandled of 2: code 547"),
        said.index("1 unhandled of 1: code 245"),
    )
    assert first < second and "like     Order [0-9'\"]%\n" in said
    assert "example  1: Order 7\n" in said and "example  3: a<U+000A>b\n" in said


def test_without_a_dead_letter_that_is_said(site, capsys):
    status, said = says(capsys, site.server)
    assert status == 0 and said.endswith("  no dead letter\n")


def test_without_yes_it_is_shown_and_with_it_done(three, operator, capsys):
    status, said = says(capsys, operator, "mark", given={"code": "547"})
    assert (
        status == 0 and "Outcome: would be accepted" in said and "Nothing was done. Next:" in said
    )
    assert run(three.server, LEFT) == [(1,), (2,), (3,)]
    told = {"given": {"code": "547"}, "reason": "it's done", "yes": True}
    status, said = says(capsys, operator, "mark", **told)
    assert status == 0 and "DeadLetters: 2" in said and "Nothing was done" not in said
    assert run(three.server, LEFT) == [(3,)]
    assert run(three.server, "SELECT Login, Reason FROM audit.OperatorLog;") == [("w", "it's done")]


def test_a_replay_counts_what_became_of_the_letters_and_says_what_remains(three, capsys):
    told = {"given": {"reasonLike": "Order [0-9'\"]%"}, "reason": "mended", "yes": True}
    status, said = says(capsys, three.server, "replay", **told)
    assert status == 0, said
    assert "         2  replayed\n" in said and "Matching: 2, Chosen: 2, Replayed: 2" in said
    assert run(three.server, LEFT) == [(3,)]


def test_a_purge_takes_what_nobody_has_handled_only_when_told(three, capsys):
    told = {"given": {"code": "547"}, "reason": "test run", "yes": True}
    assert "DeadLetters: 0" in says(capsys, three.server, "purge", **told)[1]
    assert (
        "DeadLetters: 2" in says(capsys, three.server, "purge", include_unhandled=True, **told)[1]
    )
    assert run(three.server, "SELECT DeadLetterId FROM audit.DeadLetter;") == [(3,)]


def test_for_programs_there_is_json(three, capsys):
    (place,) = json.loads(says(capsys, three.server, form="json")[1])["places"]
    assert place["database"] == "site"
    assert [(one["Code"], one["Unhandled"]) for one in place["causes"]] == [(547, 2), (245, 1)]
    assert place["causes"][0]["FirstUtc"] == "2026-01-01T00:00:00"
    told = {"given": {"code": "245"}, "form": "json"}
    (place,) = json.loads(says(capsys, three.server, "replay", **told)[1])["places"]
    assert place["outcomes"] == {"would be replayed": 1}
    assert place["result"]["Matching"] == 1 and place["statement"].endswith("@WhatIf = 1;")


@pytest.mark.parametrize(
    ("verbs", "options", "words"),
    [
        (("replay", "mark"), {}, "--replay --mark: do not go together"),
        (("replay",), {}, "needs to be told which letters"),
        ((), {"given": {"code": "1"}}, "go with --replay, --mark or --purge"),
        (("mark",), {"given": {"code": "x"}}, "--code x: is not a whole number"),
        (("mark",), {"given": {"conversation": "x"}}, "is not a conversation's id or handle"),
        (
            ("mark",),
            {"given": {"fromUtc": "yesterday"}},
            "--from-utc yesterday: is not a moment as 20",
        ),
        (("mark",), {"given": {"code": "1"}, "yes": True}, "--yes: needs a verb and --reason"),
        (("mark",), {"given": {"code": "1"}, "include_unhandled": True}, "goes with --purge only"),
        ((), {"form": "yaml"}, "use one of: text, json"),
    ],
)
def test_what_does_not_fit_is_said_before_a_server_is_asked(verbs, options, words, capsys):
    status, said = says(capsys, "Server=127.0.0.1,1;Database=shop", *verbs, **options)
    assert status == 1 and words in said


def test_who_is_no_operator_is_told_who_lets_him(three, capsys):
    run(three.server, f"CREATE LOGIN z WITH PASSWORD = '{PASSWORD}'; CREATE USER z FOR LOGIN z;")
    stranger = logged_in_as(three.server, "z", PASSWORD)
    status, said = says(capsys, stranger, "mark", given={"code": "547"})
    assert status == 1 and "ALTER ROLE [audit_operator] ADD MEMBER" in said, said
    assert says(capsys, stranger)[0] == 1


def test_where_nothing_is_installed_the_next_step_is_to_deploy(site, capsys):
    status, said = says(capsys, site.empty)
    assert status == 1 and "Next: redial deploy --config audit" in said, said


@pytest.mark.parametrize(("verbs", "module"), [((), "monitor"), (("purge",), "retention")])
def test_a_module_that_was_not_chosen_is_named(verbs, module, capsys, monkeypatch):
    without = AUDIT.model_copy(update={"modules": AUDIT.modules.model_copy(update={module: False})})
    monkeypatch.setattr("redial.cli.dead_letters.load_named", lambda _: without)
    given = {"given": {"code": "1"}} if verbs else {}
    status, said = says(capsys, "Server=127.0.0.1,1;Database=shop", *verbs, **given)
    assert status == 1 and f"switch on {module} in [modules] of audit.toml" in said


def test_both_databases_are_worked_on_and_each_is_named(capsys, monkeypatch):
    config = in_two("depot")
    monkeypatch.setattr("redial.cli.dead_letters.load_named", lambda _: config)
    with two_databases("shop", "depot") as (broker, connect):
        apply(config, connect)
        shop, depot = (with_database(broker.odbc, name) for name in ("shop", "depot"))
        put(shop, letter(side="initiator"))
        put(depot, letter(), letter())
        said = says(capsys, shop)[1]
        assert "database shop\n  1 unhandled of 1" in said
        assert "database depot\n  2 unhandled of 2" in said
        told = {"given": {"code": "547"}, "reason": "mended", "yes": True}
        said = says(capsys, shop, "replay", **told)[1]
        assert said.count("  replayed\n") == 2 and "         2  replayed\n" in said
        assert (run(shop, LEFT), run(depot, LEFT)) == ([], [])


def test_what_is_given_is_quoted():
    said = statement(AUDIT, "mark", {"code": 0, "key": "it's", "messageType": ""}, do=True)
    given = "@code = 0, @key = N'it''s', @messageType = N''"
    assert said == f"EXECUTE [audit].[usp_MarkDeadLetter] {given}, @WhatIf = 0;"


def test_where_no_letter_fits_it_is_not_advised_to_do_it(three, capsys):
    status, said = says(capsys, three.server, "replay", given={"code": "1"})
    assert status == 0 and "Next: no letter fits" in said and "--yes" not in said
    status, said = says(capsys, three.server, "purge", given={"code": "547"})
    assert status == 0 and "--include-unhandled" in said and "with --reason and --yes" not in said


def test_a_filter_that_the_server_refuses_is_to_be_corrected(three, capsys):
    status, said = says(capsys, three.server, "replay", given={"key": "x"})
    assert status == 1 and "(50170)" in said and "Next: correct that" in said

"""Rules of docs/origins.md (locks, accounting) in the text of every shipped configuration.

tests/product/sql/test_rules.py has those that know audit's procedures one by one."""

from __future__ import annotations

import re

import pytest

from redial.cli.configs import chosen, load_named
from redial.paths import GENERATED
from redial.render import read

from ..sql.bare import FILE
from ..texts import called_from_outside, code

CONFIGS = {name: load_named(name) for name in chosen(None)}
TEXTS = {
    name: {part: text for part, text in read(GENERATED / name).items() if not FILE.fullmatch(part)}
    for name in CONFIGS
}
"""As committed; ``invoke render --check`` holds them to the templates."""
MODULES = [
    (name, file) for name, files in TEXTS.items() for file in sorted(files) if ".procedure." in file
]
ON_R = re.compile(
    r"(?:SELECT|DELETE|UPDATE)\b(?:(?!;).)*?\.\[SessionConversations\](?:(?!;).)*;", re.S
)
CLEANUP = ("usp_EndLeakedOne",)
LONGEST = 200
"""Lines of a procedure, from CREATE to its last END."""


@pytest.mark.parametrize("name", TEXTS)
def test_who_is_called_from_outside_is_read_from_grants_and_queues(name):
    assert {"usp_Send", "usp_Health", "usp_TargetActivation"} <= called_from_outside(TEXTS[name])
    assert "usp_LandBatch" not in called_from_outside(TEXTS[name])


@pytest.mark.parametrize(("name", "file"), MODULES)
def test_a_procedure_runs_as_its_configurations_one_principal(name, file):
    """Itself where others call it. One that only ours call runs as that user already; a second
    EXECUTE AS would add no right."""
    text = TEXTS[name][file]
    procedure = file.split(".")[0].rsplit("_usp_")[-1]
    if f"usp_{procedure}" in called_from_outside(TEXTS[name]):
        assert f"WITH EXECUTE AS N'{CONFIGS[name].roles.module}'" in text
    else:
        callers = [f for f, other in TEXTS[name].items() if f != file and f[:2].isdigit()]
        assert any(f"[usp_{procedure}]" in code(TEXTS[name][f]) for f in callers)
    assert "RAISERROR" not in code(text)
    assert not re.search(r"RELATED_CONVERSATION\b|MOVE CONVERSATION", code(text))


@pytest.mark.parametrize(("name", "file"), MODULES)
def test_a_procedure_can_be_read_in_one_go(name, file):
    text = TEXTS[name][file]
    body = text[text.index("CREATE OR ALTER") : text.rindex("\nGO")]
    assert len(body.splitlines()) <= LONGEST


@pytest.mark.parametrize(("name", "file"), MODULES)
def test_only_the_operators_procedure_uses_cleanup(name, file):
    if "WITH CLEANUP" in code(TEXTS[name][file]):
        assert re.sub(r"^(\d\d_)+", "", file).split(".")[0] in CLEANUP


@pytest.mark.parametrize(("name", "file"), MODULES)
def test_a_write_of_a_row_goes_by_its_clustered_key(name, file):
    for statement in ON_R.findall(code(TEXTS[name][file])):
        if statement.startswith(("DELETE", "UPDATE")):
            assert "INDEX ([PK_SessionConversations])" in statement, statement
            assert "FORCESEEK" in statement, statement


@pytest.mark.parametrize("name", CONFIGS)
def test_the_module_that_ends_dialogs_accounts_for_their_copies_in_the_same_transaction(name):
    (text,) = (code(t) for f, t in TEXTS[name].items() if "usp_ResendPending.procedure" in f)
    places = [
        text.index(words)
        for words in (
            "BEGIN TRANSACTION",
            "END CONVERSATION @handle",
            "[usp_MoveCopies]",
            "WHERE cl.Handle",
        )
    ]
    end = re.search(r"COMMIT TRANSACTION;\s+RETURN 0", text)
    assert end is not None
    places.append(end.start())
    assert places == sorted(places)


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_sent_again_is_not_read_from_a_view_of_the_server(name):
    """Who may see which rows of it, and when, no document settles (F-113, F-180)."""
    for file, text in TEXTS[name].items():
        if re.search("usp_(ResendPending|MoveCopies|ResendStranded|SendPrivately)", file):
            assert "sys.transmission_queue" not in code(text)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sender_is_granted_nothing_but_execute(name):
    """And the view Outbox, which holds nothing and whose trigger sends."""
    role = CONFIGS[name].roles.sender
    grants = [
        grant
        for text in TEXTS[name].values()
        for grant in re.findall(rf"GRANT [^;]*? TO \[{role}\]", code(text))
    ]
    assert grants
    for grant in grants:
        assert re.match(
            r"GRANT (EXECUTE|REFERENCES) ON (OBJECT|TYPE)::|"
            r"GRANT SELECT, INSERT ON OBJECT::\[\w+\]\.\[Outbox\]",
            grant,
        ), grant


@pytest.mark.parametrize("name", CONFIGS)
def test_an_activated_procedure_converts_nothing_inside_receive(name):
    for text in TEXTS[name].values():
        for receive in re.findall(r"RECEIVE TOP.*?;", code(text), re.S):
            assert not re.search(r"\b(CAST|CONVERT)\b", receive)

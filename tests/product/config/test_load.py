"""A config file is read as a whole: every wrong key is named once, with what is allowed."""

import pytest

from redial.config import Config, ConfigError, load, parse
from redial.config.choices import AVAILABLE, Delivery, Key, Order, Recycle, TimerStrategy
from redial.paths import ROOT

AUDIT = ROOT / "sql" / "configs" / "audit.toml"


def audit_text(**replacements: str) -> str:
    """The shipped config with lines replaced: key as written there -> the whole new line."""
    lines = AUDIT.read_text(encoding="utf-8").split("\n")
    for key, line in replacements.items():
        hits = [i for i, old in enumerate(lines) if old.split(" =")[0] == key]
        assert len(hits) == 1, key
        lines[hits[0]] = line
    return "\n".join(lines)


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return caught.value.problems


def test_the_shipped_config_is_valid():
    config = load(AUDIT)
    assert config.name == "audit"
    assert config.services.initiator == "//redial/audit/initiator"
    assert [t.name for t in config.all_message_types] == ["//redial/audit/event", "EndOfStream"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0.1.0", None),
        ("0.0.9", None),
        ("0.2.0", "newer version than this one"),
        ("10.0.0", "newer version than this one"),
        ("soon", "allowed: a version"),
        ("", "allowed: a version"),
    ],
)
def test_a_file_of_a_newer_version_names_the_command_that_installs_it(written, said):
    text = f'redial = "{written}"\n' + audit_text()
    if said is None:
        assert parse(text) == parse(audit_text())
    else:
        [problem] = problems(text)
        assert problem.startswith("redial:") and said in problem


def test_five_errors_are_reported_at_once_each_with_key_rule_and_allowed_values(monkeypatch):
    monkeypatch.setitem(AVAILABLE, Key, (Key("spid"),))
    text = audit_text(
        key='key = "pool"',
        encryption='encryption = "perhaps"',
        retry_seconds="retry_seconds = 0",
        receive_batch="receive_batch = 1000000",
        limit="limt = 1",
    )
    found = problems(text)
    assert len(found) == 5
    by_key = {line.split(":")[0]: line for line in found}
    assert "not available yet: 'pool'" in by_key["conversation.key"]
    assert "allowed now: spid" in by_key["conversation.key"]
    assert "allowed: true, false" in by_key["conversation.encryption"]
    assert "allowed: 1 or more" in by_key["timer.retry_seconds"]
    assert "allowed: 100000 or less" in by_key["target.receive_batch"]
    assert "is not a key of this section" in by_key["poison.limt"]


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (Key, "key", "application"),
        (Recycle, "recycle", "never"),
        (TimerStrategy, "timer_strategy", "lock_timeout"),
        (Order, "order", "key"),
        (Delivery, "delivery", "exactly_once"),
    ],
)
def test_a_choice_without_templates_is_refused_by_name(monkeypatch, kind, key, value):
    only = tuple(choice for choice in kind if choice != value)
    monkeypatch.setitem(AVAILABLE, kind, only)
    assert problems(audit_text(**{key: f'{key} = "{value}"'})) == [
        f"conversation.{key}: not available yet: '{value}'; allowed now: {', '.join(only)}"
    ]


@pytest.mark.parametrize("value", ['"yes"', "1", '"true"'])
def test_a_yes_or_no_is_true_or_false_and_nothing_else(value):
    [said] = problems(audit_text(order_index=f"order_index = {value}"))
    assert "order_index" in said and "allowed: true, false" in said


def test_an_unknown_choice_is_refused_with_the_list():
    (line,) = problems(audit_text(key='key = "colour"'))
    assert line.startswith("conversation.key: 'colour':")
    assert "'spid'" in line and "'pool'" in line


@pytest.mark.parametrize(
    ("recycle", "age", "formula"),
    [
        ("timer", 3600 + 600, "timer.after_seconds + timer.spread_seconds + "),
        ("aged_out", 3600 + 600, "aged_out.after_seconds + aged_out.spread_seconds + "),
        ("never", 0, ""),
    ],
)
def test_the_lifetime_must_outlast_age_longest_transaction_retry_and_the_clock(
    recycle, age, formula
):
    """Else a dialog ends under a caller's open transaction (docs/facts.md, F-465)."""
    least = age + 3600 + 30 + 60
    chosen = f'recycle = "{recycle}"'
    (line,) = problems(audit_text(recycle=chosen, lifetime_seconds=f"lifetime_seconds = {least}"))
    assert line == (
        f"conversation.lifetime_seconds: must exceed {formula}conversation.longest_transaction_"
        "seconds + timer.retry_seconds + 60 (the clock), so that no dialog ends under a caller's "
        f"open transaction; allowed: more than {least}"
    )
    assert parse(audit_text(recycle=chosen, lifetime_seconds=f"lifetime_seconds = {least + 1}"))


def test_who_promises_shorter_transactions_may_have_shorter_lifetimes():
    short = {
        "lifetime_seconds": "lifetime_seconds = 4321",
        "longest_transaction_seconds": "longest_transaction_seconds = 30",
    }
    assert parse(audit_text(**short)).margin_seconds == 120
    assert problems(audit_text(longest_transaction_seconds="longest_transaction_seconds = 0"))


def test_rules_between_keys_are_reported_together():
    found = problems(
        audit_text(
            lifetime_seconds="lifetime_seconds = 10",
            end_of_stream='end_of_stream = "//REDIAL/audit/event"',
            sender='sender = "audit_module"',
        )
    )
    assert {line.split(":")[0] for line in found} == {
        "conversation.lifetime_seconds",
        "contract.end_of_stream",
        "roles",
    }


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "must not be empty"),
        ("x" * 129, "is 129 characters long"),
        ("\U0001f4e8" * 65, "is 130 characters long"),
        ("a\\u0007b", "control character"),
        ("//shop/$(tier)/x", "sqlcmd puts a variable"),
        ("tail ", "ends with a space"),
    ],
)
def test_a_name_no_server_takes_is_refused(name, rule):
    (line,) = problems(audit_text(schema=f'schema = "{name}"'))
    assert line.startswith("schema: ") and rule in line


@pytest.mark.parametrize("name", ["a]b", "it''s", 'say "hi"', "журнал", "]" * 128, "-- x", "*/"])
def test_hostile_names_are_allowed(name):
    assert parse(audit_text(schema=f"schema = '''{name}'''")).schema_name == name


def test_the_config_name_is_a_plain_file_name():
    text = AUDIT.read_text(encoding="utf-8").replace('name = "audit" ', 'name = "../audit" ')
    (line,) = problems(text)
    assert line.startswith("name: '../audit': allowed: a lower case letter")


def test_a_missing_section_is_named():
    text = AUDIT.read_text(encoding="utf-8").replace("[contract]", "[contractt]")
    found = problems(text)
    assert any(line.startswith("contract: is missing") for line in found)
    assert any(line.startswith("contractt: is not a key") for line in found)


def test_reserved_service_names_are_refused():
    text = AUDIT.read_text(encoding="utf-8").replace("//redial/audit/target", "any")
    (line,) = problems(text)
    assert line.startswith("services.target: 'any' has a meaning of its own")


def test_equal_names_of_a_pair_are_refused_whatever_their_case():
    text = AUDIT.read_text(encoding="utf-8").replace('"TargetQueue"', '"initiatorqueue"')
    assert problems(text) == ["queues.target: equals queues.initiator; allowed: a different name"]


def test_text_that_is_not_toml_names_the_position():
    (line,) = problems("name = \n")
    assert "is not TOML" in line and "line 1" in line


def test_a_file_whose_name_differs_is_refused(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(AUDIT.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"name: must equal the file's name; allowed: 'other'"):
        load(path)


def test_a_name_that_is_not_the_files_is_told_with_all_else_that_is_wrong(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(AUDIT.read_text(encoding="utf-8") + "\n[nothing]\na = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert [line.partition(":")[0] for line in refused.value.problems] == ["nothing", "name"]


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "absent.toml")


def test_the_error_text_names_the_file_and_counts_the_problems(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(audit_text(key='key = "colour"'), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: 1 problem\n  - conversation.key: ")


@pytest.mark.parametrize(
    "changes",
    [
        {"conversation": {"timer_strategy": "article", "key": "application"}},
        {"conversation": {"timer_strategy": "lock_timeout", "recycle": "never"}},
        {"conversation": {"key": "pool"}, "comparison": {"lookup_hint": "none"}},
    ],
    ids=[
        "the article with another key",
        "a strategy without a timer",
        "a hint without a key's row",
    ],
)
def test_comparison_values_that_mean_nothing_together_are_refused(changes, monkeypatch):
    from redial.config import choices

    monkeypatch.setitem(choices.AVAILABLE, choices.Key, tuple(choices.Key))
    data = load(AUDIT).model_dump(by_alias=True, mode="json")
    for section, values in changes.items():
        data[section] |= values
    with pytest.raises(ValueError, match=r"timer_strategy|lookup_hint"):
        Config.model_validate(data)


@pytest.mark.parametrize("strategy", ["lock_timeout", "lock_timeout_rearm", "low_priority"])
def test_what_is_for_comparison_says_so(strategy):
    data = load(AUDIT).model_dump(by_alias=True, mode="json")
    data["conversation"]["timer_strategy"] = strategy
    assert Config.model_validate(data).comparison_only == [f"timer_strategy = {strategy}"]


@pytest.mark.parametrize("name", ["sys", "SYS", "INFORMATION_SCHEMA", "information_schema"])
def test_a_schema_of_the_server_is_refused(name):
    [problem] = problems(audit_text(schema=f'schema = "{name}"'))
    assert problem.startswith(f"schema: '{name}' is the server's own") and "allowed: " in problem


@pytest.mark.parametrize("role", ["module", "sender", "operator", "reader"])
@pytest.mark.parametrize("name", ["public", "dbo", "DB_Owner", "guest"])
def test_a_principal_that_every_database_has_is_refused(role, name):
    [problem] = problems(audit_text(**{role: f'{role} = "{name}"'}))
    assert problem.startswith(f"roles.{role}: '{name}' is in every database")


def test_a_schema_that_every_database_has_is_taken_where_things_can_be_made_in_it():
    assert parse(audit_text(schema='schema = "dbo"')).schema_name == "dbo"

"""Secrets of a connection: where they may stand, where they are found, and how they are handed on."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial.spark.connect import connection_string
from redial.spark.credentials import (
    ACCESS_TOKEN,
    from_odbc,
    secrets_in,
    server_of,
    token_attribute,
)
from redial.spark.errors import PipelineError
from redial.spark.options import (
    BatchReadOptions,
    BatchWriteOptions,
    OptionsError,
    StreamReadOptions,
)
from redial.spark.parsing import parse

SECRET = "hunter2"
BASE = {"schema": "audit"}
SERVER = BASE | {"server": "db", "database": "shop"}
ODBC = BASE | {"odbc": "Server=db;Database=shop;Encrypt=yes"}


def problems(model, options) -> list[str]:
    with pytest.raises(OptionsError) as caught:
        parse(model, options)
    assert SECRET not in str(caught.value)
    return caught.value.problems


@pytest.mark.parametrize(
    "text",
    [
        f"PWD={SECRET}",
        f"pwd = {SECRET}",
        f"  Pwd\t={{{SECRET}}}",
        f"Password={SECRET}",
        f"PASSWORD ={{a;b}};APP=x;PWD={SECRET}",
        f"APP={{x;PWD={SECRET}}}",
        f"APP={{x;PWD={SECRET}",
        f"AccessToken={SECRET}",
        f"Access_Token={SECRET}",
        f"ClientSecret={SECRET}",
        f"KeyStoreSecret={SECRET}",
        f"ClientCertificate=file:/c.pem,password:{SECRET}",
        f";;;PWD={SECRET}",
    ],
)
def test_a_secret_within_odbc_is_refused_with_the_option_to_use(text):
    for where in (f"Server=db;UID=u;{text}", f"{text};Server=db;UID=u"):
        found = problems(BatchReadOptions, BASE | {"odbc": where})
        (line,) = (line for line in found if line.startswith("odbc: "))
        assert "allowed: option password, passwordFrom or accessToken" in line
        assert "change that secret" in line


@pytest.mark.parametrize(
    "text",
    [
        "Authentication=ActiveDirectoryMsi",
        "Trusted_Connection=yes;Driver={/opt/secrets/libmsodbcsql.so}",
        "Authentication=ActiveDirectoryPassword;UID=u",
    ],
)
def test_what_only_looks_like_a_secret_is_none(text):
    assert secrets_in(text) == []
    parse(BatchReadOptions, BASE | {"odbc": f"Server=db;{text}"})


values = st.text(st.characters(exclude_categories=["C"]), min_size=1).map(str.strip).filter(bool)


@given(values, values)
def test_a_connection_string_is_split_and_put_together_again(user, password):
    """In braces nothing can break out, whatever is in it."""
    uid, pwd = ("{" + value.replace("}", "}}") + "}" for value in (user, password))
    found = from_odbc(f"Server=db,1;UID={uid};Encrypt=yes; pwd = {pwd};Database={{lab}}")
    assert found == {
        "odbc": "Server=db,1;Encrypt=yes;Database={lab}",
        "user": user,
        "password": password,
    }


def test_of_a_keyword_that_is_there_twice_the_first_counts():
    assert from_odbc("PWD=one;PWD={two};UID=u")["password"] == "one"


def test_a_brace_that_is_left_open_is_part_of_the_value():
    assert from_odbc("PWD={abc;UID=u") == {"odbc": "", "password": "{abc", "user": "u"}


def test_user_and_password_are_put_in_front_of_a_connection_string():
    """Behind a brace that is left open they would be part of another value."""
    given = from_odbc("Driver={x};Server=db;UID=u;PWD=p}q;APP={open") | BASE
    text = connection_string(parse(BatchReadOptions, given))
    assert text == "UID={u};PWD={p}}q};Driver={x};Server=db;APP={open"


def test_a_login_is_whole_wherever_its_halves_stand():
    parse(BatchReadOptions, ODBC | {"user": "u", "password": SECRET})
    with_uid = BASE | {"odbc": "Server=db;UID=u"}
    parse(BatchReadOptions, with_uid | {"password": SECRET})
    assert problems(BatchReadOptions, with_uid)[0].startswith("password: ")
    assert problems(BatchReadOptions, ODBC | {"password": SECRET})[0].startswith("user: ")
    assert problems(BatchReadOptions, ODBC | {"user": "u"})[0].startswith("password: ")
    for elsewhere in ("DSN=x;UID=u", "Server=db;UID=u;Trusted_Connection=yes"):
        parse(BatchReadOptions, BASE | {"odbc": elsewhere})
    both = with_uid | {"user": "u", "password": SECRET}
    assert problems(BatchReadOptions, both) == [
        "user: UID in odbc says it already; allowed: one of the two"
    ]


@pytest.mark.parametrize("name", ["password", "accessToken", "user"])
def test_an_empty_secret_is_told_as_empty(name):
    found = problems(BatchReadOptions, SERVER | {"user": "u", "password": SECRET} | {name: ""})
    assert found[0].startswith(f"{name}: is empty; allowed: ")


def test_a_secret_is_found_in_the_environment_or_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    (tmp_path / "password").write_text(f" {SECRET}\n")
    by_name = parse(BatchReadOptions, SERVER | {"user": "u", "passwordFrom": "env:DB_PASSWORD"})
    by_file = parse(
        BatchReadOptions, SERVER | {"user": "u", "passwordFrom": f"file:{tmp_path}/password"}
    )
    token = parse(BatchReadOptions, SERVER | {"accesstokenfrom": "env:DB_PASSWORD"})
    found = (by_name.password, by_file.password, token.access_token)
    assert [secret.get_secret_value() for secret in found] == [SECRET, f" {SECRET}", SECRET]
    assert SECRET not in repr([by_name, by_file, token])


def test_a_secret_that_cannot_be_found_is_told_with_the_place(monkeypatch, tmp_path):
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.setenv("EMPTY", "")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    def told(place: str) -> str:
        (line,) = problems(BatchReadOptions, SERVER | {"user": "u", "passwordFrom": place})
        return line

    rule = (
        "; allowed: env:NAME (set before Spark starts) or file:PATH, where the driver finds the "
        "password"
    )
    head = "passwordFrom: "
    assert told("env:NOT_SET") == (
        f"{head}the driver's environment had no NOT_SET when Spark started{rule}"
    )
    assert told("env:EMPTY") == f"{head}env:EMPTY is empty{rule}"
    assert "No such file" in told(f"file:{tmp_path}/none") and "UTF-8" in told(
        f"file:{tmp_path}/binary"
    )
    for place in (SECRET, "env:", "", f"vault:{SECRET}"):  # perhaps the secret itself: not shown
        assert told(place) == f"{head}is not understood{rule}"


def test_one_secret_has_one_place(monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    login = {"user": "u", "password": SECRET, "passwordFrom": "env:DB_PASSWORD"}
    assert problems(BatchReadOptions, SERVER | login) == [
        "password: passwordFrom says it too; allowed: one of the two"
    ]


def test_a_token_stands_alone_and_is_no_part_of_the_connection_string():
    pytest.importorskip("mssql_python_odbc")
    options = parse(BatchReadOptions, SERVER | {"accessToken": SECRET})
    text = connection_string(options)
    assert SECRET not in text and "Trusted_Connection" not in text
    given = {"accessToken": SECRET, "user": "u", "password": SECRET}
    found = problems(BatchReadOptions, SERVER | given)
    assert [line.split(":")[0] for line in found] == ["user", "password"]
    (line,) = problems(
        BatchReadOptions, BASE | {"odbc": "Server=x;Trusted_Connection=yes", "accessToken": SECRET}
    )
    assert line.startswith("trusted_connection: accessToken says who it is")


def test_a_token_is_handed_over_as_length_and_utf_16():
    assert token_attribute("aé") == {ACCESS_TOKEN: b"\x04\x00\x00\x00a\x00\xe9\x00"}


def test_what_the_driver_is_told_of_certificate_and_intent():
    pytest.importorskip("mssql_python_odbc")
    more = {"hostNameInCertificate": "*.example.com", "applicationIntent": "ReadOnly"}
    text = connection_string(parse(BatchReadOptions, SERVER | more))
    assert "HostnameInCertificate=*.example.com;ApplicationIntent=ReadOnly;" in text
    for name, value in more.items():
        assert problems(BatchReadOptions, ODBC | {name: value})[0].startswith(f"{name}: ")
    bad = {"hostNameInCertificate": f"x;PWD={SECRET}"}
    assert problems(BatchReadOptions, SERVER | bad)[0].startswith("hostNameInCertificate: ")


def test_a_stream_and_a_writer_need_the_primary():
    more = {"applicationIntent": "ReadOnly"}
    (line,) = problems(StreamReadOptions, SERVER | more)
    assert line.startswith("applicationIntent: a stream's marks are the primary's; allowed: ")
    destination = {"fromService": "a", "toService": "b", "contract": "c"}
    (line,) = problems(BatchWriteOptions, SERVER | more | destination)
    assert line.startswith("applicationIntent: a secondary takes no messages; allowed: ")


def test_a_wait_for_a_lock_ends_before_its_statement_does():
    destination = SERVER | {"fromService": "a", "toService": "b", "contract": "c"}
    waits = {"lockTimeout": "900"}
    assert problems(BatchWriteOptions, destination | waits)[0].startswith("queryTimeout: ")
    for enough in ("901", "0"):
        parse(BatchWriteOptions, destination | waits | {"queryTimeout": enough})


def test_rules_between_options_are_told_beside_a_wrong_one():
    found = problems(
        BatchWriteOptions,
        ODBC
        | {"fromService": "a", "toService": "b", "contract": "c", "user": "u", "server": "db"}
        | {"batchRows": "many", "lockTimeout": "1000"},
    )
    named = {line.split(":")[0] for line in found}
    assert named == {"batchRows", "server", "password", "queryTimeout"}


def test_options_errors_survive_the_way_between_processes():
    error = OptionsError(["a: b", "c: d"])
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_a_secret_on_spark_submits_command_line_is_refused(monkeypatch):
    """Spark writes that line into its event log."""
    odbc = "Server=sql1;Database=shop;UID=lake;PWD=s3cret"
    monkeypatch.setenv("REDIAL_SERVER", odbc)
    assert server_of("Server=other") == "Server=other" and server_of(None) == odbc
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert server_of(None) == odbc
    with pytest.raises(PipelineError, match=r"PWD.*event log.*REDIAL_SERVER") as caught:
        server_of(odbc)
    assert "s3cret" not in str(caught.value)

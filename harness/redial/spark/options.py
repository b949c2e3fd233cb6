"""Options of the data source: validated together, every wrong one named with its rule.

Spark hands options over as text with names in any case. Secrets are pydantic's SecretStr: they show
as stars in a repr, and no message of ours repeats a value. What Spark keeps of one: credentials.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from redial.spark.columns import wrong_columns
from redial.spark.credentials import LOGIN, SAY_THE_REST, fetched, keywords, secrets_in
from redial.spark.where import RULE, wrong_where

SPARK_OWN = frozenset({"checkpointlocation", "queryname"})
"""Options of Spark's own that reach a source or sink with ours."""

ELSEWHERE = "From"
"""Ends the name of an option that says where the driver finds a secret."""
OTHER_NAMES = {
    "pwd": "password",
    "uid": "user",
    "username": "user",
    "login": "user",
    "token": "accessToken",
    "host": "server",
    "url": "server",
    "dbtable": "schema",
    "timeout": "loginTimeout",
}
"""What other sources and drivers call an option of ours."""

MARK = re.compile(r"0[xX][0-9a-fA-F]{16}")
HOST = r"^[^\s;,:{}=]+$"
SERVER = r"^(tcp:)?[^\s;,:{}=]+([,:]\d{1,5})?$"


class OptionsError(ValueError):
    """One or more options are wrong; ``problems`` holds a line for each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("servicebroker options:\n" + "\n".join(f"  {p}" for p in problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class Options(BaseModel):
    """What every use needs: how to connect, and where the configuration is installed."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    server: str | None = Field(
        default=None, pattern=SERVER, description="host, host,port or host:port"
    )
    database: str | None = Field(
        default=None, min_length=1, max_length=128, description="name of a database"
    )
    user: str | None = Field(default=None, min_length=1, max_length=128, description="login name")
    password: SecretStr | None = Field(
        default=None, min_length=1, description="the login's password"
    )
    password_from: str | None = Field(
        default=None, description="env:NAME or file:PATH, where the driver finds the password"
    )
    access_token: SecretStr | None = Field(
        default=None, min_length=1, description="token of Microsoft Entra ID, instead of a login"
    )
    access_token_from: str | None = Field(
        default=None, description="env:NAME or file:PATH, where the driver finds the token"
    )
    authentication: (
        Literal[
            "ActiveDirectoryDefault",
            "ActiveDirectoryIntegrated",
            "ActiveDirectoryMSI",
            "ActiveDirectoryPassword",
            "ActiveDirectoryServicePrincipal",
        ]
        | None
    ) = Field(
        default=None,
        description="ActiveDirectoryDefault, ActiveDirectoryIntegrated, ActiveDirectoryMSI, "
        "ActiveDirectoryPassword, ActiveDirectoryServicePrincipal; none: a SQL login",
    )
    encrypt: Literal["yes", "no", "strict"] = Field(default="yes", description="yes, no, strict")
    trust_server_certificate: bool = Field(default=False, description="true, false")
    host_name_in_certificate: str | None = Field(
        default=None,
        pattern=HOST,
        description="name the server's certificate has, where it is not the one in server",
    )
    application_intent: Literal["ReadOnly", "ReadWrite"] | None = Field(
        default=None, description="ReadWrite, or ReadOnly (spark.read only): a readable secondary"
    )
    odbc: SecretStr | None = Field(
        default=None,
        description="a whole ODBC connection string, without a secret, instead of all above but "
        "user, password and token",
    )
    schema_name: str = Field(
        alias="schema",
        min_length=1,
        max_length=128,
        description="schema of the configuration, as in sql/configs",
    )
    login_timeout: int = Field(default=30, ge=1, le=600, description="seconds, 1 to 600")
    retry_seconds: int = Field(
        default=120,
        ge=0,
        le=86_400,
        description="seconds a server that was lost is tried again, 1 to 86400; 0: not once",
    )
    query_timeout: int = Field(
        default=900,
        ge=0,
        le=172_800,
        description="seconds a statement may take to answer, 1 to 172800; 0: no limit",
    )

    @model_validator(mode="after")
    def _one_way_to_connect(self) -> Self:
        """Collect every broken rule, then raise once."""
        problems = self.problems()
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def problems(self) -> list[str]:
        """Rules between options."""
        return self._where() + self._who()

    def _where(self) -> list[str]:
        """Server, database and how to get there are told in one way."""
        if self.odbc is not None:
            text = self.odbc.get_secret_value()
            found = [
                f"{to_camel(name)}: the connection string in odbc says it already; allowed: one of "
                "the two"
                for name in IN_ODBC
                if name in self.model_fields_set and getattr(self, name) is not None
            ]
            if words := secrets_in(text):
                found.append(
                    f"odbc: has a secret in it ({', '.join(words)}), which Spark keeps in plans, "
                    "event logs and its REST interface; allowed: option password, passwordFrom or "
                    "accessToken instead. If this came by SQL or Spark Connect it is kept "
                    "already: change that secret"
                )
            return found
        return [
            f"{name}: must be given; allowed: {what}, or odbc with a whole connection string"
            for name, what in (("server", "host or host,port"), ("database", "a name"))
            if getattr(self, name) is None
        ]

    def _who(self) -> list[str]:
        """A login with its password, an account of Entra ID, a token, or Kerberos."""
        text = self.odbc.get_secret_value() if self.odbc is not None else ""
        said, found = keywords(text), []
        if self.access_token is not None:
            given = [n for n in ("user", "password", "authentication") if getattr(self, n)]
            given += [word for word in LOGIN if word in said]
            return [
                f"{name}: accessToken says who it is; allowed: one of the two" for name in given
            ]
        if self.user is not None and "uid" in said:
            found.append("user: UID in odbc says it already; allowed: one of the two")
        user = self.user is not None or "uid" in said
        password = self.password is not None or bool(secrets_in(text))
        elsewhere = self.authentication is not None or said & set(SAY_THE_REST)
        if not elsewhere and user != password:
            lacking = "password" if user else "user"
            found.append(f"{lacking}: a SQL login is user and password; allowed: both or neither")
        return found


IN_ODBC = (
    "server",
    "database",
    "authentication",
    "encrypt",
    "trust_server_certificate",
    "host_name_in_certificate",
    "application_intent",
)
"""What a connection string says itself."""


class ReadOptions(Options):
    """Of every read."""

    starting_mark: str = Field(
        default="earliest", description="earliest, latest, or a mark like 0x00000000000007D1"
    )
    num_partitions: int = Field(default=1, ge=1, le=1024, description="1 to 1024")
    max_body_bytes: int = Field(
        default=67_108_864,
        ge=1,
        le=1_073_741_824,
        description="bytes, 1 to 1073741824; a longer body is not fetched",
    )
    oversized_bodies: Literal["fail", "null"] = Field(
        default="fail",
        description="fail, or null: body is NULL and body_bytes tells its length",
    )
    columns: str | None = Field(
        default=None,
        min_length=1,
        description="names of columns, with commas between them; none: all. Others are not fetched",
    )
    where: str | None = Field(default=None, min_length=1, description=RULE)
    fail_on_data_loss: bool = Field(
        default=True,
        description="true, false; true: fails when rows between the marks were removed",
    )

    def problems(self) -> list[str]:
        """Also: the columns are there, and can be compared so."""
        found = super().problems() + wrong_where(self.where or "")
        return found + (wrong_columns(self.columns) if self.columns else [])

    @field_validator("starting_mark")
    @classmethod
    def _starting_mark(cls, value: str) -> str:
        return checked_mark(value, ("earliest", "latest"))


class BatchReadOptions(ReadOptions):
    """Of ``spark.read``."""

    ending_mark: str = Field(default="latest", description="latest, or a mark")

    @field_validator("ending_mark")
    @classmethod
    def _ending_mark(cls, value: str) -> str:
        return checked_mark(value, ("latest",))


class StreamReadOptions(ReadOptions):
    """Of ``spark.readStream``."""

    max_messages_per_trigger: int | None = Field(
        default=None, ge=1, le=100_000_000, description="1 to 100000000; none: all there are"
    )
    reader: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="name under which usp_AcknowledgeLanding is told how far this stream is",
    )
    stalled_mark: Literal["warn", "fail"] = Field(default="warn", description="warn, fail")
    stall_seconds: int = Field(default=60, ge=1, le=86_400, description="seconds, 1 to 86400")

    def problems(self) -> list[str]:
        """Also: only the primary's mark is known to have nothing uncommitted below it."""
        return super().problems() + not_on_a_secondary(self, "a stream's marks are the primary's")


class WriteOptions(Options):
    """Of ``df.write`` and ``df.writeStream``."""

    from_service: str = Field(min_length=1, max_length=256, description="services.initiator")
    to_service: str = Field(min_length=1, max_length=256, description="services.target")
    contract: str = Field(min_length=1, max_length=128, description="contract.name")
    message_type: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="one of message_types, for rows without a column type",
    )
    batch_rows: int = Field(
        default=1000, ge=1, le=100_000, description="messages of one usp_SendBatch, 1 to 100000"
    )
    batch_bytes: int = Field(
        default=4_194_304,
        ge=1,
        le=1_073_741_824,
        description="bytes of bodies of one usp_SendBatch, 1 to 1073741824",
    )
    chunk_rows: int | None = Field(
        default=None,
        ge=1,
        le=100_000_000,
        description="rows of one transaction, with orderColumn; none: one per partition",
    )
    order_column: str | None = Field(
        default=None,
        min_length=1,
        description="whole-number column that grows from row to row of a partition, in every run",
    )
    lock_timeout: int = Field(
        default=600,
        ge=1,
        le=86_400,
        description="seconds a dialog, or a twin that sends the same partition, is waited for, "
        "1 to 86400",
    )

    def problems(self) -> list[str]:
        """Also: commits within a partition need an order that a replay repeats."""
        found = super().problems()
        if (self.chunk_rows is None) != (self.order_column is None):
            lacking = "orderColumn" if self.order_column is None else "chunkRows"
            found.append(
                f"{lacking}: a partition is committed in chunks only in a declared order; allowed: "
                "chunkRows and orderColumn together, or neither"
            )
        if 0 < self.query_timeout <= self.lock_timeout:
            found.append(
                f"queryTimeout: ends before lockTimeout ({self.lock_timeout}) does; allowed: more, "
                "or 0"
            )
        return found + not_on_a_secondary(self, "a secondary takes no messages")


class BatchWriteOptions(WriteOptions):
    """Of ``df.write``."""

    job_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="name of this job, the same when it is run again; none: at least once",
    )


Model = TypeVar("Model", bound=Options)

EVERY = (BatchReadOptions, StreamReadOptions, BatchWriteOptions, WriteOptions)
USES = {
    BatchReadOptions: "spark.read",
    StreamReadOptions: "spark.readStream",
    BatchWriteOptions: "df.write",
    WriteOptions: "df.writeStream",
}


def not_on_a_secondary(options: Options, why: str) -> list[str]:
    """The rule for what needs the primary replica."""
    if options.application_intent != "ReadOnly":
        return []
    return [f"applicationIntent: {why}; allowed: ReadWrite, or spark.read"]


def checked_mark(value: str, words: tuple[str, ...]) -> str:
    """A word of ``words`` or a mark, as it is. Raises ValueError."""
    if value not in words and not MARK.fullmatch(value):
        raise ValueError("is no mark")
    return value


def described(model: type[Options]) -> dict[str, str]:
    """Name of each option -> what is allowed; the documentation is compared with it."""
    return {
        field.alias or name: field.description or "" for name, field in model.model_fields.items()
    }


def parse(model: type[Model], given: Mapping[str, str]) -> Model:
    """The options of one use. Raises OptionsError with every wrong one."""
    allowed = described(model)
    names = {name.lower(): name for name in allowed}
    problems: list[str] = []
    values: dict[str, Any] = {}  # as given; pydantic makes them what they should be
    for key, value in given.items():
        name = names.get(key.lower())
        if name is not None:
            values[name] = value
        elif key.lower() not in SPARK_OWN:
            problems.append(_unknown(key, model))
    problems += _fetch_secrets(values, allowed)
    try:
        found = model.model_validate(values)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        for one in wrong:
            problems += _lines(one, allowed)
        bad = {one["loc"][0] for one in wrong if one["loc"]}
        if bad:  # pydantic asks for the rules between options only when each is right by itself
            unchecked = model.model_construct(**_typed(model, values, bad))
            problems += [p for p in unchecked.problems() if p.split(":")[0] not in bad]
    if problems:
        raise OptionsError(problems)
    return found


def parse_either(models: tuple[type[Model], ...], given: Mapping[str, str]) -> Model:
    """The options of whichever use they are right for. Raises the OptionsError with the fewest."""
    refused = []
    for model in models:
        try:
            return parse(model, given)
        except OptionsError as error:
            refused.append(error)
    raise min(refused, key=lambda error: len(error.problems))


def _typed(model: type[Options], values: dict[str, Any], bad: set[Any]) -> dict[str, Any]:
    """The values that are right by themselves, as what they should be."""
    kinds: dict[str, Any] = {
        field.alias or name: field.annotation for name, field in model.model_fields.items()
    }
    return {
        name: TypeAdapter(kinds[name]).validate_python(value)
        for name, value in values.items()
        if name not in bad
    }


def _fetch_secrets(values: dict[str, Any], allowed: dict[str, str]) -> list[str]:
    """Puts secrets that are elsewhere where the others are; what is wrong with that."""
    problems = []
    for name in ("password", "accessToken"):
        place = values.pop(name + ELSEWHERE, None)
        if place is None:
            continue
        if name in values:
            problems.append(f"{name}: {name}{ELSEWHERE} says it too; allowed: one of the two")
            continue
        try:
            values[name] = fetched(place)
        except ValueError as error:
            rule = allowed[name + ELSEWHERE]
            problems.append(f"{name}{ELSEWHERE}: {error}; allowed: {rule}")
            values[name] = "?"  # given, if wrongly: the other rules have nothing to add
    return problems


def _unknown(key: str, model: type[Options]) -> str:
    """What is said of an option this use does not have."""
    own = described(model)
    everywhere = {name.lower(): name for other in EVERY for name in described(other)}
    if found := everywhere.get(key.lower()):
        uses = next(USES[other] for other in EVERY if found in described(other))
        return f"{found}: is an option of {uses}; allowed: leave it out here"
    meant = OTHER_NAMES.get(key.lower())
    for names in ({name.lower(): name for name in own}, everywhere):
        if meant is None and (close := get_close_matches(key.lower(), names, n=1)):
            meant = names[close[0]]
    hint = f" (did you mean {meant}?)" if meant else ""
    return f"{key}: there is no such option{hint}; allowed: {', '.join(own)}"


def _lines(wrong: Any, allowed: dict[str, str]) -> list[str]:
    """One of pydantic's errors as lines of ours, without the value."""
    if not wrong["loc"]:
        return str(wrong["ctx"]["error"]).splitlines()
    name = str(wrong["loc"][0])
    empty = wrong["type"] in ("string_too_short", "too_short")
    rule = "must be given" if wrong["type"] == "missing" else "is not allowed so"
    rule = "is empty" if empty else rule
    return [f"{name}: {rule}; allowed: {allowed[name]}"]

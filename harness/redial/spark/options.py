"""Options of the data source: validated together, every wrong one named with its rule.

Spark hands options over as text with names in any case. Secrets are pydantic's SecretStr: they show
as stars in a repr, and no message of ours repeats a value. What Spark keeps of one: credentials.py.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from redial.spark.columns import wrong_columns
from redial.spark.credentials import LOGIN, SAY_THE_REST, keywords, secrets_in
from redial.spark.where import RULE, wrong_where

MARK = re.compile(r"0[xX][0-9a-fA-F]{16}")
HOST = r"^[^\s;,:{}=]+$"
SERVER = r"^(tcp:)?[^\s;,:{}=]+([,:]\d{1,5})?$"


MOMENT = "a time like 2026-11-26T08:00:00Z, UTC where it names no zone"


def _moment(value: object) -> object:
    """Not a number, which could be seconds or milliseconds."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("is no time")
    return value


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # before year 1 or after 9999 without its zone
        raise ValueError("is no time") from None


def _switch(value: object) -> object:
    """Of the words that are allowed: pydantic takes on, y and 1 too."""
    if isinstance(value, str) and value.lower() not in ("true", "false"):
        raise ValueError("is neither")
    return value


Moment = Annotated[datetime, BeforeValidator(_moment), AfterValidator(_utc)]
"""As columns `landed` and `sent` are: UTC."""
Switch = Annotated[bool, BeforeValidator(_switch)]


PLACE = "env:NAME (set before Spark starts) or file:PATH, where the driver finds"


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
        default=None,
        min_length=1,
        max_length=128,
        description="name of a database, 1 to 128 characters",
    )
    user: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="login name, 1 to 128 characters",
    )
    password: SecretStr | None = Field(
        default=None, min_length=1, description="the login's password"
    )
    password_from: str | None = Field(default=None, description=f"{PLACE} the password")
    access_token: SecretStr | None = Field(
        default=None, min_length=1, description="token of Microsoft Entra ID, instead of a login"
    )
    access_token_from: str | None = Field(default=None, description=f"{PLACE} the token")
    authentication: (
        Literal[
            "ActiveDirectoryIntegrated",
            "ActiveDirectoryMSI",
            "ActiveDirectoryPassword",
            "ActiveDirectoryServicePrincipal",
        ]
        | None
    ) = Field(
        default=None,
        description="ActiveDirectoryIntegrated, ActiveDirectoryMSI, "
        "ActiveDirectoryPassword, ActiveDirectoryServicePrincipal; none: a SQL login",
    )
    encrypt: Literal["yes", "no", "strict"] = Field(default="yes", description="yes, no, strict")
    trust_server_certificate: Switch = Field(default=False, description="true, false")
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
        description="schema of the configuration, as in sql/configs, 1 to 128 characters",
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
        return self._address() + self._who()

    def _address(self) -> list[str]:
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
    starting_timestamp: Moment | None = Field(
        default=None,
        description=f"{MOMENT}; instead of startingMark: nothing that landed then or later, and is "
        "still there, is left out",
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
    fail_on_data_loss: Switch = Field(
        default=True,
        description="true, false; true: fails when rows between the marks were removed",
    )

    @field_validator("starting_mark")
    @classmethod
    def _starting_mark(cls, value: str) -> str:
        return checked_mark(value, ("earliest", "latest"))

    def problems(self) -> list[str]:
        """Also: a beginning, or an end, is told once; the columns are there, and can be compared so."""
        found = super().problems() + [
            f"{edge}Timestamp: {edge}Mark says it too; allowed: one of the two"
            for edge in ("starting", "ending")
            if {f"{edge}_mark", f"{edge}_timestamp"} <= self.model_fields_set
        ]
        found += wrong_where(self.where or "")
        return found + (wrong_columns(self.columns) if self.columns else [])


class BatchReadOptions(ReadOptions):
    """Of ``spark.read``."""

    ending_mark: str = Field(default="latest", description="latest, or a mark")
    ending_timestamp: Moment | None = Field(
        default=None,
        description=f"{MOMENT}; instead of endingMark: nothing that landed before is left out",
    )

    @field_validator("ending_mark")
    @classmethod
    def _ending_mark(cls, value: str) -> str:
        return checked_mark(value, ("latest",))


class StreamReadOptions(ReadOptions):
    """Of ``spark.readStream``."""

    max_messages_per_trigger: int | None = Field(
        default=None, ge=1, le=100_000_000, description="1 to 100000000; none: all there are"
    )
    max_bytes_per_trigger: int | None = Field(
        default=None,
        ge=1,
        le=1_099_511_627_776,
        description="bytes of bodies, 1 to 1099511627776, or one message that has more; none: all "
        "there are",
    )
    reader: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="name under which usp_AcknowledgeLanding is told how far this stream is, 1 to 128 "
        "characters",
    )
    stalled_mark: Literal["warn", "fail"] = Field(default="warn", description="warn, fail")
    stall_seconds: int = Field(default=60, ge=1, le=86_400, description="seconds, 1 to 86400")

    def problems(self) -> list[str]:
        """Also: only the primary's mark is known to have nothing uncommitted below it; a reader has a
        name that the server takes for one."""
        found = super().problems() + not_on_a_secondary(self, "a stream's marks are the primary's")
        if self.reader is not None and self.reader.strip().lower() in ("", "usp_purgelanding"):
            found.append("reader: is not allowed so; allowed: a name, and not usp_PurgeLanding")
        return found


class WriteOptions(Options):
    """Of ``df.write`` and ``df.writeStream``."""

    from_service: str = Field(
        min_length=1, max_length=256, description="services.initiator, 1 to 256 characters"
    )
    to_service: str = Field(
        min_length=1, max_length=256, description="services.target, 1 to 256 characters"
    )
    contract: str = Field(
        min_length=1, max_length=128, description="contract.name, 1 to 128 characters"
    )
    message_type: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="one of message_types, 1 to 256 characters, for rows without a column type",
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
        description="name of this job, 1 to 128 characters, the same when it is run again; none: at "
        "least once",
    )


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

"""Options of the data source: validated together, every wrong one named with its rule.

Spark hands options over as text with names in any case. Secrets are pydantic's SecretStr: they show
as stars in a repr, and no message of ours repeats a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

SPARK_OWN = frozenset({"checkpointlocation", "queryname"})
"""Options of Spark's own that reach a source or sink with ours."""

MARK = re.compile(r"0[xX][0-9a-fA-F]{16}")
SERVER = r"^(tcp:)?[^\s;,:{}=]+([,:]\d{1,5})?$"


class OptionsError(ValueError):
    """One or more options are wrong; ``problems`` holds a line for each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("servicebroker options:\n" + "\n".join(f"  {p}" for p in problems))


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
    password: SecretStr | None = Field(default=None, description="the login's password")
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
    odbc: SecretStr | None = Field(
        default=None,
        description="a whole ODBC connection string, instead of the options above",
    )
    schema_name: str = Field(
        alias="schema",
        min_length=1,
        max_length=128,
        description="schema of the configuration, as in sql/configs",
    )
    login_timeout: int = Field(default=30, ge=1, le=600, description="seconds, 1 to 600")

    @model_validator(mode="after")
    def _one_way_to_connect(self) -> Self:
        """Collect every broken rule, then raise once."""
        problems = self.problems()
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def problems(self) -> list[str]:
        """Rules between options."""
        single = ("server", "database", "user", "password", "authentication")
        given = [name for name in single if getattr(self, name) is not None]
        if self.odbc is not None:
            return [
                f"{name}: the connection string in odbc says it already; allowed: one of the two"
                for name in given
            ]
        missing = [
            f"{name}: must be given; allowed: {what}, or odbc with a whole connection string"
            for name, what in (("server", "host or host,port"), ("database", "a name"))
            if getattr(self, name) is None
        ]
        if self.authentication is None and (self.user is None) != (self.password is None):
            lacking = "password" if self.password is None else "user"
            missing.append(f"{lacking}: a SQL login is user and password; allowed: both or neither")
        return missing


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

    fail_on_data_loss: bool = Field(
        default=True,
        description="true, false; true: fails when rows between the marks were removed",
    )

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
        return found


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
    try:
        found = model.model_validate(values)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        for one in wrong:
            problems += _lines(one, allowed)
        bad = {one["loc"][0] for one in wrong if one["loc"]}
        if bad:  # pydantic asks for the rules between options only when each is right by itself
            rest = {name: value for name, value in values.items() if name not in bad}
            unchecked: Options = model.model_construct(**rest)
            problems += [p for p in unchecked.problems() if p.split(":")[0] not in bad]
    if problems:
        raise OptionsError(problems)
    return found


def _unknown(key: str, model: type[Options]) -> str:
    """What is said of an option this use does not have."""
    for other in EVERY:
        for name in described(other):
            if name.lower() == key.lower():
                return f"{name}: is an option of {USES[other]}; allowed: leave it out here"
    return f"{key}: there is no such option; allowed: {', '.join(described(model))}"


def _lines(wrong: Any, allowed: dict[str, str]) -> list[str]:
    """One of pydantic's errors as lines of ours, without the value."""
    if not wrong["loc"]:
        return str(wrong["ctx"]["error"]).splitlines()
    name = str(wrong["loc"][0])
    rule = "must be given" if wrong["type"] == "missing" else "is not allowed so"
    return [f"{name}: {rule}; allowed: {allowed[name]}"]

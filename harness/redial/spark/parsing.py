"""What Spark hands over as text, made the options of one use; every wrong one is told at once."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from redial.spark.credentials import secret_at
from redial.spark.options import (
    BatchReadOptions,
    BatchWriteOptions,
    Options,
    OptionsError,
    StreamReadOptions,
    WriteOptions,
)

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

Model = TypeVar("Model", bound=Options)

EVERY = (BatchReadOptions, StreamReadOptions, BatchWriteOptions, WriteOptions)
USES = {
    BatchReadOptions: "spark.read",
    StreamReadOptions: "spark.readStream",
    BatchWriteOptions: "df.write",
    WriteOptions: "df.writeStream",
}


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
    """The options of whichever use they are right for. Raises OptionsError of the use that has most
    of the names; of two that have as many, the one with fewer problems."""
    refused = []
    for model in models:
        try:
            return parse(model, given)
        except OptionsError as error:
            refused.append((_strangers(model, given), len(error.problems), error))
    raise min(refused, key=lambda one: one[:2])[2]


def _strangers(model: type[Options], given: Mapping[str, str]) -> int:
    """How many names the use does not have: a wrong value is no reason to think of another."""
    own = {name.lower() for name in described(model)}
    return sum(key.lower() not in own for key in given)


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
            values[name] = secret_at(place)
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
    rest = f"did you mean {meant}?" if meant else f"allowed: {', '.join(own)}"
    return f"{key}: there is no such option; {rest}"


def _lines(wrong: Any, allowed: dict[str, str]) -> list[str]:
    """One of pydantic's errors as lines of ours, without the value."""
    if not wrong["loc"]:
        return str(wrong["ctx"]["error"]).splitlines()
    name = str(wrong["loc"][0])
    empty = wrong["type"] in ("string_too_short", "too_short")
    rule = "must be given" if wrong["type"] == "missing" else "is not allowed so"
    rule = "is empty" if empty else rule
    return [f"{name}: {rule}; allowed: {allowed[name]}"]

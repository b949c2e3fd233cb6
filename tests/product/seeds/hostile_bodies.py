"""Bodies that some reader chokes on, by kind, and an installation of each key to send them to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redial.config import Config
from redial.config.variants import EVENT, merged
from redial_broker.engine.switches import check
from tests.choices import usual_recycle
from tests.product.combos.lab import Lab, empty_instance

BODIES: dict[str, bytes] = {
    "not closed": "<a>".encode("utf-16-le"),
    "a control character": "<a>\x01</a>".encode("utf-16-le"),
    "half a surrogate pair": "<a>\ud800</a>".encode("utf-16-le", "surrogatepass"),
    "an odd number of bytes": "<a/>".encode("utf-16-le") + b"\x00",
    "cut in the middle": ("<a>" + "x" * 4000 + "</a>").encode("utf-16-le")[:4000],
    "not UTF-8": b"<a>\xff\xfe</a>",
    "a lone byte": b"\x00",
    "zeros": bytes(50),
    "an envelope of another version": b"RDL2" + bytes(60),
    "an envelope longer than the body": b"RDL1\xff\xff" + bytes(60),
    "an envelope of negative times": b"RDL1\x00\x2e" + b"\xff" * 32 + bytes(8),
}
"""No XML, any of them."""
TEXTS: dict[str, bytes] = {
    "json that does not end": '[{"ordinal": 1, "type": '.encode("utf-16-le"),
    "an envelope that ends at once": b"RDL1",
}
"""The xml type takes them, VALIDATION = WELL_FORMED_XML may not (F-244)."""
UNKNOWN_ENCODING = b'<?xml version="1.0" encoding="none"?><a/>'
"""The other way round, here: the xml type refuses it, the validation does not."""


def good(number: int) -> bytes:
    """A body every reader takes."""
    return f"<g>{number}</g>".encode("utf-16-le")


def config_of(key: str, **sections: Any) -> Config:
    """The smallest configuration of a key; sections: as in variants."""
    conversation = {"key": key, "recycle": usual_recycle(key)} | sections.pop("conversation", {})
    types = sections.pop("message_types", None)
    data = merged({"conversation": conversation, **sections})
    if types:
        data["message_types"] = types
    return Config.model_validate(data)


@contextmanager
def installed(config: Config, **switches: object) -> Iterator[Lab]:
    """The configuration on an instance that answers so; afterwards it is gone."""
    with empty_instance() as instance:
        instance.engine.switches |= check(switches)
        try:
            lab = Lab(instance, config)
            lab.deploy()
            yield lab
        finally:
            for name in switches:
                del instance.engine.switches[name]


def ask_for(lab: Lab, validation: str) -> None:
    """Another rule for the bodies at the target; the sender's procedures know of none."""
    lab.run(f"ALTER MESSAGE TYPE [{EVENT}] VALIDATION = {validation};")

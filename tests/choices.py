"""The choices of key and recycling that go together, read off the model: lists for tests."""

from __future__ import annotations

from itertools import product

from pydantic import ValidationError

from redial.config import Config
from redial.config.choices import Key, Recycle
from redial.config.keys import every_key, keys_with
from redial.config.variants import merged


def _model(key: Key, recycle: Recycle) -> Config | None:
    """A configuration of the two; None where the model refuses them."""
    try:
        return Config.model_validate(
            merged({"conversation": {"key": key.value, "recycle": recycle.value}})
        )
    except ValidationError:
        return None


_MODELS = {
    (key.value, recycle.value): config
    for key, recycle in product(Key, Recycle)
    if (config := _model(key, recycle))
}
PAIRS = tuple(_MODELS)
"""(key, recycle): every pair the model takes."""
KEYS = tuple(key.value for key in Key)
TRAITS = every_key()
"""Word -> what the key is like: tests ask for traits and compare no words."""
WITH_ROWS = keys_with("has_rows")
"""Keys whose dialogs are found through a row of SessionConversations."""
WITHOUT_ROWS = tuple(key for key in KEYS if key not in WITH_ROWS)
"""Keys without such a row: nothing of theirs can be recycled."""
PLAIN = keys_with("row_of_one_key")
"""Keys with a row of their own per session or name: most tests are written for these."""
ONE_DIALOG = tuple(
    key for key in keys_with("shared") if not (TRAITS[key].named or TRAITS[key].slots)
)
"""Keys by which all callers of a test share one dialog, whatever they do: they are of one login, one
program and one computer."""
PRIVATE = tuple(key for key in PLAIN if not TRAITS[key].shared)
"""Keys by which a session has a row to itself."""
OTHERS = tuple(key for key in KEYS if key not in PLAIN)


def usual_recycle(key: str) -> str:
    """By timer, where the key can be recycled."""
    return Recycle.TIMER.value if (key, Recycle.TIMER.value) in PAIRS else Recycle.NEVER.value

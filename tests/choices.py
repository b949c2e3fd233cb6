"""The choices of key and recycling that go together, read off the model: lists for tests."""

from __future__ import annotations

from itertools import product

from pydantic import ValidationError

from redial.config import Config
from redial.config.choices import Key, Recycle
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
WITH_ROWS = tuple(key for key in KEYS if _MODELS[key, Recycle.NEVER.value].has_rows)
"""Keys whose dialogs are found through a row of SessionConversations."""
WITHOUT_ROWS = tuple(key for key in KEYS if key not in WITH_ROWS)
"""Keys without such a row: nothing of theirs can be recycled."""
PLAIN = ("spid", "application")
"""Keys with a row of their own per session or name: most tests are written for these."""
OTHERS = tuple(key for key in KEYS if key not in PLAIN)


def usual_recycle(key: str) -> str:
    """By timer, where the key can be recycled."""
    return Recycle.TIMER.value if (key, Recycle.TIMER.value) in PAIRS else Recycle.NEVER.value

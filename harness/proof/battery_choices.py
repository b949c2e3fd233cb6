"""Cases."""

from __future__ import annotations

from collections.abc import Mapping

from harness.proof.wanted import Wanted

CHOICES: Mapping[str, Wanted] = {}
IN_CHOICES: Mapping[str, tuple[str, ...]] = {}

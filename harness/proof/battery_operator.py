"""Cases."""

from __future__ import annotations

from collections.abc import Mapping

from harness.proof.wanted import Wanted

OPERATOR: Mapping[str, Wanted] = {}
IN_OPERATOR: Mapping[str, tuple[str, ...]] = {}

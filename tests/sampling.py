"""How much of a family is run: a sample, always the same, or all of it."""

import os

FULL = "REDIAL_FULL"
"""Environment variable: 1 runs every variant of every family (``invoke test --full``)."""


def full() -> bool:
    """Whether every variant of every family is wanted."""
    return os.environ.get(FULL) == "1"


def crash_stride(usual: int) -> int:
    """Every how many places a test of crashes kills; REDIAL_CRASH_STRIDE says another number."""
    return int(os.environ.get("REDIAL_CRASH_STRIDE") or (1 if full() else usual))


SMALL = (
    {}
    if full()
    else {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
)
"""Spark's settings for frames of some rows: its expressions are interpreted rather than compiled,
and a plan is not made anew after each stage. With REDIAL_FULL they are what they are by default."""

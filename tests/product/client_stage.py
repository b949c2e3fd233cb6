"""What the tests of redial.client share: a stage, connections through its wire, and trouble."""

# ruff: noqa: F401, F811 (fixtures that come from another folder)
from __future__ import annotations

from contextlib import closing

import pyodbc
import pytest

from redial.client import Retry, send_many
from tests.product.examples.conftest import stage, theatre

COMMIT = "COMMIT TRANSACTION"


def three(does=lambda: None):
    """Three tries; instead of a pause something is done."""
    return Retry(tries=3, sleep=lambda seconds: does())


@pytest.fixture
def connect(stage):
    return lambda: pyodbc.connect(stage.odbc, autocommit=True)


@pytest.fixture
def connection(connect):
    with closing(connect()) as made:
        yield made


def many(place, bodies, schema="audit", **more):
    return send_many(place, bodies, schema=schema, **more)


def held_slot(stage):
    """Somebody's open transaction has the pool's one slot."""
    stage.does("BEGIN TRANSACTION; EXECUTE etl.usp_Send @messageBody = 0x00;")


def closed_gate(stage):
    """An operator drains."""
    stage.does(
        "EXECUTE etl.usp_Drain @reason = N'test', @waitSeconds = 0, @keepClosed = 1, @WhatIf = 0;"
    )


def let_go(stage):
    """Whoever held something does no more."""
    stage.does("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")


def opened_gate(stage):
    """The operator is done."""
    stage.does("EXECUTE etl.usp_OpenGate @reason = N'test';")

"""A hook that is not called as it was written is named before its messages fail."""

from __future__ import annotations

import pytest

from redial.cli.plan import shown
from tests.product.sql.lab import Lab, configured

from .by_hand import Site

WHOLE = """ALTER PROCEDURE audit.usp_ProcessMessage
    @conversationId uniqueidentifier, @handle uniqueidentifier, @sequence bigint, @messageType nvarchar(256),
    @BODY varbinary(max), @key nvarchar(200), @keySequence bigint, @messageId uniqueidentifier,
    @sentUtc datetime2(3), @senderLogin nvarchar(128), @senderApp nvarchar(128), @senderHost nvarchar(128)
AS RETURN 0;"""


@pytest.fixture
def here():
    lab = Lab(configured(target={"processing": "hook"}))
    lab.instance.disconnect(lab.sa.session)
    return Site(lab)


def test_a_hook_without_a_parameter_it_is_called_with_is_named_and_no_deployment_touches_it(here):
    assert here.findings() == []
    here.run(WHOLE.replace(", @sentUtc datetime2(3)", "").replace("    @sentUtc datetime2(3),", ""))
    [line] = here.findings()
    assert "the hook, module usp_ProcessMessage, has no parameter @sentUtc, and is called" in line
    plan = here.survey().plan
    assert plan.status == 0 and f"note     {line.removeprefix('in lab: ')}" in shown(plan)
    assert here.deploy() and here.findings() == [line]
    # 1. whoever wrote it gives it the parameter
    here.run(WHOLE)
    assert here.findings() == []


def test_where_messages_only_land_no_hook_is_asked_for():
    assert Site(Lab()).findings() == []

"""Who may do what with each object: decided here, compared with the catalog.

A new table or module without a decision fails, and so does a grant nobody decided. Least privilege:
applications send and see nothing; readers read what arrived; operators look and call procedures,
but read no table whose locks a sender waits for.
"""

from __future__ import annotations

import pytest

from redial.config import Config
from redial.config.choices import Delivery, Order, Signing
from tests.product.sql.lab import AUDIT, Lab, configured

SENDER, OPERATOR, READER = "sender", "operator", "reader"
EXECUTE, SELECT = frozenset({"EXECUTE"}), frozenset({"SELECT"})


def each(*names: str, right: dict[str, frozenset[str]] | None = None) -> dict[str, dict]:
    """The same decision for several objects; without a right: nobody's."""
    return {name: dict(right or {}) for name in names}


DECIDED: dict[str, dict[str, frozenset[str]]] = {
    # what applications call
    "usp_Send": {SENDER: EXECUTE},
    "usp_SendBatch": {SENDER: EXECUTE},
    "usp_BeginPartition": {SENDER: EXECUTE},
    "usp_EndPartition": {SENDER: EXECUTE},
    "MessageBatch": {SENDER: EXECUTE},
    "Outbox": {SENDER: frozenset({"SELECT", "INSERT"})},
    # what operators call
    **each(
        "usp_ResendPending",
        "usp_EndLeaked",
        "usp_PurgeInbox",
        "usp_PurgeLanding",
        "usp_PurgePoison",
        "usp_Drain",
        "usp_OpenGate",
        "usp_Health",
        "usp_RetireIdle",
        "usp_ReplayDeadLetter",
        "usp_MarkDeadLetter",
        "usp_PurgeDeadLetter",
        "usp_PurgeLogs",
        "usp_PurgeSendLedger",
        "usp_ResendStranded",
        "usp_Resend",
        "usp_StartQueue",
        "usp_ReorganizeQueue",
        "usp_CheckHealth",
        "usp_Trace",
        "usp_Figures",
        "usp_Sessions",
        right={OPERATOR: EXECUTE},
    ),
    "usp_AcknowledgeLanding": {OPERATOR: EXECUTE, READER: EXECUTE},
    # what operators and readers look at
    **each(
        "DeadLetter",
        "ErrorLog",
        "PoisonAttempt",
        "DeploymentHistory",
        "DeploymentAttempt",
        "OperatorLog",
        "Migration",
        "Setting",
        "Gate",
        "SendLedger",
        "vw_Conversations",
        "vw_Queues",
        "vw_Pending",
        "vw_Errors",
        "vw_DeadLetters",
        "vw_DeadLetterCauses",
        "vw_FailedConversations",
        "vw_Findings",
        right={OPERATOR: SELECT},
    ),
    "ConversationLog": {OPERATOR: SELECT, READER: SELECT},
    "LandingAcknowledged": {OPERATOR: SELECT, READER: SELECT},
    "Landing": {READER: SELECT},
    "vw_Unlanded": {OPERATOR: SELECT, READER: SELECT},
    # tables a sender or a reader of a queue locks: through our procedures only
    **each("SessionConversations", "KeySequence", "Everlasting", "Inbox", "OwnedObject"),
    # the files of deployments: whoever deploys
    **each("DeploymentText"),
    **each("IdleWatch", "SentMessage", "SkippedNumber"),
    # queues: RECEIVE would take messages away, SELECT would wait for their readers
    **each("InitiatorQueue", "TargetQueue", "TroubleQueue"),
    # parts of others
    **each(
        "usp_AcquireConversation",
        "usp_BeginConversation",
        "usp_SendEndOfStream",
        "usp_ArmTimer",
        "usp_SendMessages",
        "usp_WaitForSlot",
        "usp_CloseEverlasting",
        "usp_CloseGate",
        "usp_ReopenGate",
        "usp_CloseDialogs",
        "usp_WaitForEnds",
        "usp_InTheWay",
        "usp_EndLeakedOne",
        "usp_QueueTrouble",
        "usp_Mark",
        "usp_RecycleConversation",
        "usp_RecycleInOneTransaction",
        "usp_SenderActivation",
        "usp_MoveCopies",
        "usp_ResendLeft",
        "usp_SendPrivately",
        "usp_TargetActivation",
        "usp_LandBatch",
        "usp_LandRow",
        "usp_FindPoison",
        "usp_PickConversation",
        "usp_CountRefusals",
        "usp_TakeTurn",
        "usp_EndTarget",
        "usp_WaitForServer",
        "usp_CheckMessages",
        "usp_EndInitiator",
        "usp_RecordPoison",
        "usp_LogError",
        "usp_ReadErrorBody",
        "usp_SeesPending",
        "usp_DropCopies",
        "usp_ProcessMessage",
        "ReceivedBatch",
        "ufn_ReadBatch",
        "ufn_ReadEnvelope",
        "ufn_Conversations",
        "ufn_DeadLetters",
        "ufn_Leaked",
        "ufn_Pending",
        "ufn_Queues",
        "ufn_QueuePages",
        "ufn_DialogOf",
        "ufn_DialogTrail",
        "ufn_SentAgain",
        "ufn_Sides",
        "ufn_Trail",
    ),
}

GRANTED = """
SELECT x.name, USER_NAME(p.grantee_principal_id), p.permission_name, p.state
FROM (SELECT 1 AS class, object_id AS id, name FROM sys.objects
      WHERE schema_id = SCHEMA_ID(N'audit') AND parent_object_id = 0
      UNION ALL
      SELECT 6, user_type_id, name FROM sys.types WHERE schema_id = SCHEMA_ID(N'audit')) AS x
LEFT OUTER JOIN sys.database_permissions AS p ON p.class = x.class AND p.major_id = x.id;"""

VARIANTS = {
    "audit": AUDIT,
    "everything": configured(
        conversation={"order": Order.KEY, "delivery": Delivery.EXACTLY_ONCE},
        security={"signing": Signing.CERTIFICATE},
        envelope={"who": True},
    ),
}


@pytest.fixture(scope="module", params=VARIANTS)
def lab(request) -> Lab:
    return Lab(VARIANTS[request.param])


def granted(lab: Lab, config: Config) -> dict[str, dict[str, frozenset[str]]]:
    """Permissions by object and role, as the catalog has them; every object is a key."""
    names = {getattr(config.roles, role): role for role in (SENDER, OPERATOR, READER)}
    found: dict[str, dict[str, frozenset[str]]] = {}
    for name, grantee, permission, state in lab.rows(GRANTED):
        rights = found.setdefault(name, {})
        if grantee is not None:
            assert state == "G", (name, grantee, permission, state)
            role = names.get(grantee, grantee)
            rights[role] = rights.get(role, frozenset()) | {permission}
    return found


def test_every_object_has_a_decision_and_is_granted_as_decided(lab):
    found = granted(lab, lab.config)
    undecided = sorted(found.keys() - DECIDED.keys())
    assert not undecided, f"decide in DECIDED who may do what with: {', '.join(undecided)}"
    assert found == {name: DECIDED[name] for name in found}


def test_the_roles_have_no_right_on_anything_wider_than_an_object(lab):
    """Not on the schema, not on the database, not on services or principals."""
    assert (
        lab.rows(
            "SELECT p.class_desc, p.permission_name FROM sys.database_permissions AS p "
            "INNER JOIN sys.database_principals AS r ON r.principal_id = p.grantee_principal_id "
            "WHERE r.type = 'R' AND r.is_fixed_role = 0 AND r.principal_id > 4 "
            "AND p.class NOT IN (1, 6);"
        )
        == []
    )


def test_the_roles_are_in_no_role_and_own_nothing(lab):
    roles = "(N'audit_sender', N'audit_operator', N'audit_reader')"
    assert (
        lab.rows(
            "SELECT 1 FROM sys.database_role_members WHERE "
            f"USER_NAME(member_principal_id) IN {roles};"
        )
        == []
    )
    for view in ("schemas", "services", "service_contracts", "service_message_types"):
        assert (
            lab.rows(f"SELECT name FROM sys.{view} WHERE USER_NAME(principal_id) IN {roles};") == []
        )


def test_public_has_nothing_of_ours(lab):
    assert (
        lab.rows(
            "SELECT OBJECT_NAME(p.major_id) FROM sys.database_permissions AS p INNER JOIN sys.objects "
            "AS o ON o.object_id = p.major_id WHERE p.class = 1 AND p.grantee_principal_id = 0 "
            "AND o.schema_id = SCHEMA_ID(N'audit');"
        )
        == []
    )

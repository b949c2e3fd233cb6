"""Verification names each thing that is not as the files make it, and what mends it."""

from __future__ import annotations

from typing import Any

import pytest

from redial.config import load
from redial.deploy import verify
from redial.deploy.apply import installation
from redial.paths import CONFIGS
from tests.installed import batches, rendered
from tests.product.combos.lab import DATABASE, empty_instance
from tests.product.combos.lab import Lab as Variant
from tests.product.combos.test_variants import VARIANTS
from tests.product.sql.lab import AUDIT, Lab, configured
from tests.product.sql.test_usp_QueueTrouble import ENDED

from .inside import Connection

DEPLOY = "redial deploy makes it so again."
OVERWRITE = (
    "redial deploy makes it so again; redial plan says whether somebody has changed it by hand, which "
    "deploy undoes with --overwrite only."
)
PERSON = "a person must"
OTHERS = "ask who made it"


def found_by(lab: Lab) -> list[str]:
    """What verify says."""
    return verify(lab.config, lambda: Connection(lab.instance, "lab"), rendered(lab.config))


def deploy_again(lab: Lab) -> None:
    """Every file once more, as redial deploy sends them."""
    files = rendered(lab.config)
    for name in installation(files):
        for sql in batches(files[name]):
            lab.sa.execute(sql)


CHANGES: dict[str, tuple[str, str, str]] = {
    # what somebody does by hand: the statement, the finding, what mends it
    "a sender that says yes and does nothing": (
        "ALTER PROCEDURE audit.usp_Send AS RETURN 0;",
        "module usp_Send has another text than the file",
        "DROP PROCEDURE [audit].[usp_Send]; then redial deploy",
    ),
    "a hotfix with our comment kept": (
        "{hotfix}",
        "-    /* hotfix */",
        OVERWRITE,
    ),
    "a procedure made with the wrong settings": (
        "SET QUOTED_IDENTIFIER OFF; EXECUTE (N'{logerror}');",
        "module usp_LogError: QUOTED_IDENTIFIER is off, not on",
        DEPLOY,
    ),
    "commits that a crash loses": (
        "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED;",
        "database itself: delayed durability is forced, not as each COMMIT says",
        "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED; /* until then a crash loses",
    ),
    "an older compatibility level": (
        "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;",
        "database itself: compatibility level is 120, not 130 or more",
        "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130; /* when your application",
    ),
    "everybody's route leads elsewhere": (
        "ALTER ROUTE [AutoCreatedLocal] WITH ADDRESS = N'TCP://elsewhere:4022';",
        "route AutoCreatedLocal: address is TCP://elsewhere:4022, not LOCAL",
        "ALTER ROUTE [AutoCreatedLocal] WITH ADDRESS = N'LOCAL';",
    ),
    "everybody's route ends one day": (
        "ALTER ROUTE [AutoCreatedLocal] WITH LIFETIME = 3600;",
        "route AutoCreatedLocal: expires is 20",
        "DROP ROUTE [AutoCreatedLocal]; CREATE ROUTE [AutoCreatedLocal]",
    ),
    "everybody's route is for one service": (
        "ALTER ROUTE [AutoCreatedLocal] WITH SERVICE_NAME = N'x';",
        "route AutoCreatedLocal: service is x, not nothing",
        "unless routes of yours do it",
    ),
    "a binding for our service": (
        "CREATE USER stranger WITHOUT LOGIN; CREATE REMOTE SERVICE BINDING theirs "
        f"TO SERVICE N'{AUDIT.services.target}' WITH USER = stranger;",
        "remote service binding theirs is there, and no file of this configuration makes it",
        OTHERS,
    ),
    "a signature of somebody's": (
        "CREATE CERTIFICATE theirs ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
        "ADD SIGNATURE TO audit.usp_Health BY CERTIFICATE theirs WITH PASSWORD = N'Pa55word!';",
        "signature by theirs of usp_Health is there, and no file of this configuration makes it",
        OTHERS,
    ),
    "a deployment has stopped half way": (
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'deploy');",
        "a deployment has stopped half way (deploy)",
        "redial deploy goes on where the one before stopped",
    ),
    "a later version has run": (
        "INSERT INTO audit.Migration (Number, Name) VALUES (7, N'later');",
        "migration 7 is there, and no file of this configuration makes it",
        "deploy with the version that has this migration",
    ),
    "a view is dropped": ("DROP VIEW audit.vw_Errors;", "module vw_Errors is missing", DEPLOY),
    "a function is dropped": (
        "DROP FUNCTION audit.ufn_HealthData;",
        "module ufn_HealthData is missing",
        DEPLOY,
    ),
    "a trigger is dropped": (
        "DROP TRIGGER audit.Outbox_Insert;",
        "module Outbox_Insert of Outbox is missing",
        DEPLOY,
    ),
    "a trigger is switched off": (
        "DISABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;",
        "module Outbox_Insert of Outbox: fires is off, not on",
        "ENABLE TRIGGER",
    ),
    "a procedure nobody knows": (
        "CREATE PROCEDURE audit.usp_Mine AS RETURN 0;",
        "module usp_Mine is there, and no file",
        OTHERS,
    ),
    "a trigger on our table": (
        "CREATE TRIGGER audit.Watch ON audit.SessionConversations AFTER INSERT AS RETURN;",
        "module Watch of SessionConversations is there, and no file",
        OTHERS,
    ),
    "a trigger of another schema on our table": (
        "EXECUTE (N'CREATE SCHEMA other;'); "
        "EXECUTE (N'CREATE TABLE other.T (A int);'); "
        "EXECUTE (N'CREATE TRIGGER audit.Far ON audit.Landing AFTER INSERT AS RETURN;');",
        "module Far of Landing is there, and no file",
        OTHERS,
    ),
    "a table of somebody's": (
        "CREATE TABLE audit.Mine (A int NOT NULL);",
        "table Mine is there, and no file",
        OTHERS,
    ),
    "a table of ours is gone": (
        "DROP TABLE audit.ErrorLog;",
        "table ErrorLog is missing",
        DEPLOY,
    ),
    "lock escalation": (
        "ALTER TABLE audit.SentMessage SET (LOCK_ESCALATION = TABLE);",
        "table SentMessage: lock escalation is table, not disable",
        "SET (LOCK_ESCALATION = DISABLE)",
    ),
    "one more column": (
        "ALTER TABLE audit.DeadLetter ADD Extra int NULL;",
        "column Extra of DeadLetter is there, and no file",
        OTHERS,
    ),
    "a column is gone": (
        "ALTER TABLE audit.Landing DROP COLUMN SenderHost;",
        "column SenderHost of Landing is missing",
        PERSON,
    ),
    "a narrower column": (
        "ALTER TABLE audit.Landing ALTER COLUMN ConversationKey nvarchar(100) NULL;",
        "column ConversationKey of Landing: type is nvarchar(100), not nvarchar(200)",
        PERSON,
    ),
    "a column that may be NULL": (
        "ALTER TABLE audit.Landing ALTER COLUMN MessageType nvarchar(256) NULL;",
        "column MessageType of Landing: nullable is on, not off",
        PERSON,
    ),
    "a column of another collation": (
        "ALTER TABLE audit.Landing ALTER COLUMN ConversationKey nvarchar(200) "
        "COLLATE Latin1_General_BIN2 NULL;",
        "column ConversationKey of Landing: collation is Latin1_General_BIN2",
        PERSON,
    ),
    "a default is gone": (
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc;",
        "column LandedUtc of Landing: default is nothing",
        PERSON,
    ),
    "another default": (
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; "
        "ALTER TABLE audit.Landing ADD CONSTRAINT DF_Landing_LandedUtc "
        "DEFAULT (GETDATE()) FOR LandedUtc;",
        "column LandedUtc of Landing: default is",
        PERSON,
    ),
    "a default of another name": (
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; "
        "ALTER TABLE audit.Landing ADD CONSTRAINT DF_x DEFAULT (SYSUTCDATETIME()) FOR LandedUtc;",
        "column LandedUtc of Landing: default's name is DF_x",
        PERSON,
    ),
    "a check of somebody's": (
        "ALTER TABLE audit.Landing ADD CONSTRAINT CK_x CHECK (MessageSequence >= 0);",
        "check CK_x of Landing is there, and no file",
        OTHERS,
    ),
    "a foreign key from our table": (
        "CREATE TABLE dbo.Theirs (Handle uniqueidentifier NOT NULL PRIMARY KEY); "
        "ALTER TABLE audit.ConversationLog WITH NOCHECK ADD CONSTRAINT FK_x "
        "FOREIGN KEY (Handle) REFERENCES dbo.Theirs (Handle);",
        "foreign key FK_x of ConversationLog is there, and no file",
        OTHERS,
    ),
    "an index is gone": (
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations;",
        "index UX_SessionConversations_Handle of SessionConversations is missing",
        PERSON,
    ),
    "an index of somebody's": (
        "CREATE INDEX IX_x ON audit.Landing (LandedUtc);",
        "index IX_x of Landing is there, and no file",
        OTHERS,
    ),
    "an index on other columns": (
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; "
        "CREATE INDEX IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc DESC, JobId) "
        "INCLUDE (SentBy) WHERE JobId IS NOT NULL;",
        "index IX_SendLedger_SentUtc of SendLedger: columns is SentUtc descending, JobId, "
        "not SentUtc",
        PERSON,
    ),
    "an index that is unique": (
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; "
        "CREATE UNIQUE INDEX IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc) "
        "WITH (IGNORE_DUP_KEY = ON);",
        "index IX_SendLedger_SentUtc of SendLedger: ignores duplicates is on, not off",
        "ALTER INDEX",
    ),
    "page locks": (
        "ALTER INDEX PK_SessionConversations ON audit.SessionConversations "
        "SET (ALLOW_PAGE_LOCKS = ON);",
        "index PK_SessionConversations of SessionConversations: page locks is on, not off",
        "SET (ALLOW_PAGE_LOCKS = OFF)",
    ),
    "an index is switched off": (
        "ALTER INDEX UX_SessionConversations_Handle ON audit.SessionConversations DISABLE;",
        "index UX_SessionConversations_Handle of SessionConversations: in use is off, not on",
        "REBUILD",
    ),
    "a queue is off": (
        "ALTER QUEUE audit.InitiatorQueue WITH STATUS = OFF;",
        "queue InitiatorQueue: receive is off, not on",
        "WITH STATUS = ON",
    ),
    "retention": (
        "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;",
        "queue TargetQueue: retention is on, not off",
        "WITH RETENTION = OFF",
    ),
    "poison handling": (
        "ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = OFF);",
        "queue TargetQueue: poison handling is off, not on",
        "POISON_MESSAGE_HANDLING (STATUS = ON)",
    ),
    "activation": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",
        "queue TargetQueue: activation is off, not on",
        "WITH ACTIVATION (STATUS = ON); /* ask who has switched it off",
    ),
    "no activation at all": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (DROP);",
        "queue TargetQueue: procedure is nothing, not usp_TargetActivation",
        DEPLOY,
    ),
    "another reader": (
        "EXECUTE (N'CREATE PROCEDURE dbo.Reader AS RETURN 0;'); "
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (PROCEDURE_NAME = dbo.Reader);",
        "queue TargetQueue: procedure is dbo.Reader, not usp_TargetActivation",
        DEPLOY,
    ),
    "one reader": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (MAX_QUEUE_READERS = 1);",
        "queue TargetQueue: readers is 1, not 4",
        DEPLOY,
    ),
    "a reader who is somebody else": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (EXECUTE AS OWNER);",
        "queue TargetQueue: execute as is",
        DEPLOY,
    ),
    "a service on another queue": (
        "ALTER SERVICE [//redial/audit/initiator] ON QUEUE audit.TargetQueue;",
        "service //redial/audit/initiator: queue is TargetQueue, not InitiatorQueue",
        DEPLOY,
    ),
    "a service without its contract": (
        "ALTER SERVICE [//redial/audit/target] (DROP CONTRACT [//redial/audit/contract]);",
        "contract //redial/audit/contract of //redial/audit/target is missing",
        DEPLOY,
    ),
    "a service with a contract of others": (
        "CREATE CONTRACT [theirs] ([EndOfStream] SENT BY ANY); "
        "ALTER SERVICE [//redial/audit/target] (ADD CONTRACT [theirs]);",
        "contract theirs of //redial/audit/target is there, and no file",
        OTHERS,
    ),
    "a service on our queue": (
        "CREATE SERVICE [theirs] ON QUEUE audit.TargetQueue;",
        "service theirs is there, and no file",
        OTHERS,
    ),
    "the owner of a service": (
        "ALTER AUTHORIZATION ON SERVICE::[//redial/audit/target] TO dbo;",
        "service //redial/audit/target: owner is dbo, not audit_module",
        "ALTER AUTHORIZATION ON SERVICE::[//redial/audit/target] TO [audit_module]",
    ),
    "the owner of a contract": (
        "ALTER AUTHORIZATION ON CONTRACT::[//redial/audit/contract] TO audit_module;",
        "contract //redial/audit/contract: owner is audit_module, not dbo",
        "ALTER AUTHORIZATION ON CONTRACT::[//redial/audit/contract] TO [dbo]",
    ),
    "the owner of a message type": (
        "ALTER AUTHORIZATION ON MESSAGE TYPE::[//redial/audit/event] TO audit_module;",
        "message type //redial/audit/event: owner is audit_module, not dbo",
        "ALTER AUTHORIZATION ON MESSAGE TYPE::[//redial/audit/event] TO [dbo]",
    ),
    "another validation": (
        "ALTER MESSAGE TYPE [EndOfStream] VALIDATION = NONE;",
        "message type EndOfStream: validation is none, not empty",
        DEPLOY,
    ),
    "a right revoked": (
        "REVOKE EXECUTE ON audit.usp_Send FROM audit_sender;",
        "permission EXECUTE to audit_sender on OBJECT usp_Send is missing",
        DEPLOY,
    ),
    "a right denied": (
        "DENY EXECUTE ON audit.usp_SendBatch TO audit_sender;",
        "permission EXECUTE to audit_sender on OBJECT usp_SendBatch: state is deny, not grant",
        "GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender]; /* takes the DENY away",
    ),
    "a right to be passed on": (
        "GRANT EXECUTE ON audit.usp_Send TO audit_sender WITH GRANT OPTION;",
        "permission EXECUTE to audit_sender on OBJECT usp_Send: state is grant with option",
        "REVOKE GRANT OPTION FOR",
    ),
    "SELECT to public": (
        "GRANT SELECT ON audit.Landing TO public;",
        "permission SELECT to public on OBJECT Landing is there, and no file",
        "REVOKE SELECT ON OBJECT::[audit].[Landing] FROM [public]",
    ),
    "a column's SELECT": (
        "GRANT SELECT ON audit.Landing (Body) TO public;",
        "permission SELECT to public on OBJECT Landing (Body) is there, and no file",
        "REVOKE SELECT ON OBJECT::[audit].[Landing] ([Body]) FROM [public]",
    ),
    "rights on a type": (
        "GRANT EXECUTE ON TYPE::audit.MessageBatch TO public;",
        "permission EXECUTE to public on TYPE MessageBatch is there, and no file",
        "REVOKE EXECUTE ON TYPE::[audit].[MessageBatch] FROM [public]",
    ),
    "SEND to public": (
        "GRANT SEND ON SERVICE::[//redial/audit/target] TO public;",
        "permission SEND to public on SERVICE //redial/audit/target is there, and no file",
        "REVOKE SEND ON SERVICE::[//redial/audit/target] FROM [public]",
    ),
    "CONTROL of the schema": (
        "GRANT CONTROL ON SCHEMA::audit TO audit_sender;",
        "permission CONTROL to audit_sender on SCHEMA audit is there, and no file",
        "REVOKE CONTROL ON SCHEMA::[audit] FROM [audit_sender]",
    ),
    "a right on the database": (
        "GRANT VIEW DATABASE STATE TO audit_operator;",
        "permission VIEW DATABASE STATE to audit_operator on DATABASE is there, and no file",
        "REVOKE VIEW DATABASE STATE FROM [audit_operator]",
    ),
    "a role of the module user": (
        "ALTER ROLE db_datareader ADD MEMBER audit_module;",
        "role membership db_datareader of audit_module is there, and no file",
        "ALTER ROLE [db_datareader] DROP MEMBER [audit_module]",
    ),
    "a role is gone": ("DROP ROLE audit_reader;", "role audit_reader is missing", DEPLOY),
    "the owner of the schema": (
        "ALTER AUTHORIZATION ON SCHEMA::audit TO dbo;",
        "permission CONTROL to audit_module on SCHEMA audit is missing",
        DEPLOY,
    ),
    "a choice changed by hand": (
        "UPDATE audit.Setting SET Value = N'9' WHERE Name = N'pool.size';",
        "setting pool.size: value is 9, not 0",
        DEPLOY,
    ),
    "a choice is gone": (
        "DELETE FROM audit.Setting WHERE Name = N'pool.size';",
        "setting pool.size is missing",
        DEPLOY,
    ),
    "other files were deployed last": (
        "UPDATE audit.DeploymentHistory SET ContentHash = N'0123';",
        "deployment last: content is 0123, not ",
        DEPLOY,
    ),
    "a closed gate": (
        "UPDATE audit.Gate SET IsOpen = 0, Reason = N'lunch';",
        "gate 1: state is closed by",
        "usp_OpenGate",
    ),
    "an event notification of others": (
        "CREATE EVENT NOTIFICATION [theirs] ON QUEUE audit.TargetQueue FOR BROKER_QUEUE_DISABLED "
        "TO SERVICE N'//redial/audit/target', N'current database';",
        "event notification theirs of TargetQueue is there, and no file",
        OTHERS,
    ),
    "a priority for our dialogs": (
        "CREATE BROKER PRIORITY [theirs] FOR CONVERSATION "
        "SET (LOCAL_SERVICE_NAME = [//redial/audit/target], PRIORITY_LEVEL = 1);",
        "broker priority theirs is there, and no file",
        OTHERS,
    ),
    "a synonym in our schema": (
        "CREATE SYNONYM audit.Elsewhere FOR dbo.Anything;",
        "object Elsewhere (SN) is there, and no file",
        OTHERS,
    ),
    "a sequence in our schema": (
        "CREATE SEQUENCE audit.Numbers AS int START WITH 1;",
        "object Numbers (SO) is there, and no file",
        OTHERS,
    ),
    "an owner of its own for a module": (
        "ALTER AUTHORIZATION ON OBJECT::audit.usp_Send TO dbo;",
        "module usp_Send: owner is dbo, not nothing",
        "ALTER AUTHORIZATION ON OBJECT::[audit].[usp_Send] TO SCHEMA OWNER;",
    ),
    "an owner of its own for a table": (
        "ALTER AUTHORIZATION ON OBJECT::audit.Landing TO dbo;",
        "table Landing: owner is dbo, not nothing",
        "ALTER AUTHORIZATION ON OBJECT::[audit].[Landing] TO SCHEMA OWNER;",
    ),
    "an owner of its own for a queue": (
        "ALTER AUTHORIZATION ON OBJECT::audit.TargetQueue TO dbo;",
        "queue TargetQueue: owner is dbo, not nothing",
        "ALTER AUTHORIZATION ON OBJECT::[audit].[TargetQueue] TO SCHEMA OWNER;",
    ),
    "a module user in db_owner": (
        "ALTER ROLE db_owner ADD MEMBER audit_module;",
        "'audit_module' is a member of db_owner, so whoever may ALTER one of its procedures",
        "redial deploy, which takes it out",
    ),
    "a procedure that nobody can read": (
        "ALTER PROCEDURE audit.usp_StartQueue WITH ENCRYPTION AS RETURN 0;",
        "module usp_StartQueue: its text is encrypted, or hidden from this login",
        "ask who, before it is dropped",
    ),
    "a route that leads our messages elsewhere": (
        "CREATE ROUTE [theirs] WITH SERVICE_NAME = N'//redial/audit/target', "
        "ADDRESS = N'TCP://elsewhere:4022';",
        "route theirs is there, and no file",
        OTHERS,
    ),
    "no way within the instance": (
        "DROP ROUTE [AutoCreatedLocal];",
        "route AutoCreatedLocal is missing",
        "CREATE ROUTE [AutoCreatedLocal] WITH ADDRESS = N'LOCAL'",
    ),
    "EXECUTE denied to everybody": (
        "DENY EXECUTE TO public;",
        "permission EXECUTE to public on DATABASE is there, and no file",
        "REVOKE EXECUTE FROM [public]",
    ),
    "everybody may be the module user": (
        "GRANT IMPERSONATE ON USER::audit_module TO public;",
        "permission IMPERSONATE to public on USER audit_module is there, and no file",
        "REVOKE IMPERSONATE ON USER::[audit_module] FROM [public]",
    ),
    "the contract denied to everybody": (
        "DENY REFERENCES ON CONTRACT::[//redial/audit/contract] TO public;",
        "permission REFERENCES to public on CONTRACT //redial/audit/contract is there, and no file",
        "REVOKE REFERENCES ON CONTRACT::[//redial/audit/contract] FROM [public]",
    ),
    "a module user who may not enter": (
        "DENY CONNECT TO audit_module;",
        "permission CONNECT to audit_module on DATABASE is there, and no file",
        "REVOKE CONNECT FROM [audit_module]",
    ),
    "a right of our role elsewhere": (
        "EXECUTE (N'CREATE TABLE dbo.T (A int);'); GRANT SELECT ON dbo.T TO audit_sender;",
        "permission SELECT to audit_sender on OBJECT dbo.T is there, and no file",
        "REVOKE SELECT ON OBJECT::[dbo].[T] FROM [audit_sender]",
    ),
    "the row of the gate is gone": (
        "DELETE FROM audit.Gate;",
        "gate 1 is missing",
        DEPLOY,
    ),
    "everybody may run everything": (
        "GRANT EXECUTE TO public;",
        "permission EXECUTE to public on DATABASE is there, and no file",
        "REVOKE EXECUTE FROM [public]",
    ),
    "who may change our role": (
        "CREATE USER joe WITHOUT LOGIN; GRANT ALTER ON ROLE::audit_operator TO joe;",
        "permission ALTER to joe on ROLE audit_operator is there, and no file",
        "REVOKE ALTER ON ROLE::[audit_operator] FROM [joe]",
    ),
    "who may change our contract": (
        "CREATE USER joe WITHOUT LOGIN; GRANT CONTROL ON CONTRACT::[//redial/audit/contract] TO joe;",
        "permission CONTROL to joe on CONTRACT //redial/audit/contract is there, and no file",
        "REVOKE CONTROL ON CONTRACT::[//redial/audit/contract] FROM [joe]",
    ),
    "a right of our role on somebody's certificate": (
        "CREATE CERTIFICATE theirs ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
        "GRANT CONTROL ON CERTIFICATE::theirs TO audit_sender;",
        "permission CONTROL to audit_sender on CERTIFICATE theirs is there, and no file",
        "REVOKE CONTROL ON CERTIFICATE::[theirs] FROM [audit_sender]",
    ),
    "a schema of the module user": (
        "EXECUTE (N'CREATE SCHEMA theirs AUTHORIZATION audit_module;');",
        "schema theirs of audit_module is there, and no file",
        OTHERS,
    ),
    "our contract on the other service": (
        "ALTER SERVICE [//redial/audit/initiator] (ADD CONTRACT [//redial/audit/contract]);",
        "contract //redial/audit/contract of //redial/audit/initiator is there, and no file",
        OTHERS,
    ),
    "statistics of somebody's": (
        "CREATE STATISTICS theirs ON audit.Landing (LandedUtc);",
        "statistics theirs of Landing is there, and no file",
        OTHERS,
    ),
    "a choice nobody knows": (
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'pool.sizee', N'3');",
        "setting pool.sizee is there, and no file",
        OTHERS,
    ),
    "a second gate": (
        "INSERT INTO audit.Gate (ConfigId, IsOpen, ChangedBy, ChangedUtc, Reason) "
        "SELECT 2, 1, ChangedBy, ChangedUtc, Reason FROM audit.Gate;",
        "gate 2 is there, and no file",
        OTHERS,
    ),
    "a mark of another configuration": (
        "EXECUTE sys.sp_updateextendedproperty N'Redial.made', N'other', N'SCHEMA', N'audit', "
        "N'TABLE', N'Landing';",
        "mark TABLE of Landing: configuration is other, not audit",
        PERSON,
    ),
    "a queue without its mark": (
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SCHEMA', N'audit', "
        "N'QUEUE', N'TargetQueue';",
        "mark QUEUE of TargetQueue is missing",
        DEPLOY,
    ),
    "a table without its mark": (
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SCHEMA', N'audit', "
        "N'TABLE', N'Landing';",
        "mark TABLE of Landing is missing",
        "EXECUTE [audit].[usp_Mark] N'TABLE', N'Landing';",
    ),
    "another configuration's mark on our service": (
        "EXECUTE sys.sp_addextendedproperty N'Redial.user.99', N'x', N'SERVICE', "
        "N'//redial/audit/target';",
        "mark of another configuration Redial.user.99 of SERVICE //redial/audit/target is there",
        OTHERS,
    ),
    "a database for administrators only": (
        "ALTER DATABASE lab SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE;",
        "database itself: open to is restricted user, not multi user",
        "ALTER DATABASE CURRENT SET MULTI_USER;",
    ),
    "a column that verification itself reads is gone": (
        "ALTER TABLE audit.Gate DROP COLUMN Reason;",
        "column Reason of Gate is missing",
        PERSON,
    ),
    "a sender's procedure that somebody renamed": (
        "EXECUTE sp_rename N'audit.usp_LogError', N'usp_LogError_old';",
        "module usp_LogError_old is there, and no file",
        OTHERS,
    ),
    "a priority for all dialogs": (
        "CREATE BROKER PRIORITY [all] FOR CONVERSATION SET (PRIORITY_LEVEL = 10);",
        "broker priority all is there, and no file",
        OTHERS,
    ),
    "a priority for whatever uses our contract": (
        "CREATE BROKER PRIORITY [theirs] FOR CONVERSATION SET "
        "(CONTRACT_NAME = [//redial/audit/contract], PRIORITY_LEVEL = 10);",
        "broker priority theirs is there, and no file",
        OTHERS,
    ),
    "a procedure elsewhere that runs as our module user": (
        "EXECUTE (N'CREATE PROCEDURE dbo.p WITH EXECUTE AS N''audit_module'' AS "
        "DELETE FROM audit.Landing;');",
        "module or queue of others dbo.p that runs as audit_module is there, and no file",
        OTHERS,
    ),
    "an XML schema in our schema": (
        "CREATE XML SCHEMA COLLECTION audit.xs AS N'<xs:schema xmlns:xs="
        '"http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>\';',
        "XML schema collection xs is there, and no file",
        OTHERS,
    ),
    "everybody who may enter may send": (
        "ALTER ROLE audit_sender ADD MEMBER guest;",
        "role membership audit_sender of guest is there, and no file",
        "ALTER ROLE [audit_sender] DROP MEMBER [guest]",
    ),
    "the history names another configuration": (
        "UPDATE audit.DeploymentHistory SET ConfigName = N'other';",
        "deployment last: configuration is other, not audit",
        "redial repair writes that row anew",
    ),
    "the broker is off": (
        "ALTER DATABASE lab SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;",
        "database itself: Service Broker is off, not on",
        DEPLOY,
    ),
}


def spelled(lab: Lab, sql: str) -> str:
    """A change that needs the text of a procedure of ours."""
    if sql not in ("{hotfix}", CHANGES["a procedure made with the wrong settings"][0]):
        return sql
    name = "usp_Send" if sql == "{hotfix}" else "usp_LogError"
    files = rendered(lab.config)
    file = next(name_ for name_ in files if name_.endswith(f"_{name}.procedure.sql"))
    text = next(one for one in batches(files[file]) if "CREATE OR ALTER" in one)
    if sql == "{hotfix}":
        return text.replace("    SET NOCOUNT ON;", "    /* hotfix */\n    SET NOCOUNT ON;", 1)
    return sql.replace("{logerror}", text.replace("'", "''"))


def test_as_deployed_there_is_nothing_to_say():
    assert found_by(Lab()) == []


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_by_hand_is_named_and_what_verify_says_mends_it(what):
    sql, finding, mended_by = CHANGES[what]
    lab = Lab()
    # 1. somebody changes something
    lab.sa.execute(spelled(lab, sql))
    lab.sa.execute("SET QUOTED_IDENTIFIER ON;")
    lines = [line for line in found_by(lab) if finding in line]
    assert len(lines) == 1, found_by(lab)
    assert mended_by in lines[0]
    # 2. what verify says is done; a person's decision is not
    said = lines[0].rsplit(" Next: ", 1)[1]
    if said in (DEPLOY, OVERWRITE):
        deploy_again(lab)
    elif "; then redial deploy" in said:
        lab.sa.execute(said[said.index("DROP ") :].partition(";")[0])
        deploy_again(lab)
    elif said.startswith(("ALTER ", "GRANT ", "REVOKE ", "ENABLE ", "EXECUTE [audit].[usp_Mark]")):
        lab.sa.execute(said)
    else:
        return
    assert [line for line in found_by(lab) if finding in line] == []


@pytest.mark.sampled(every=30, meets=("name",))
@pytest.mark.parametrize("name", [name for name, one in VARIANTS.items() if not one.comparison])
def test_every_variant_is_what_its_files_say(name):
    with empty_instance() as instance:
        lab = Variant(instance, VARIANTS[name].config)
        lab.deploy()
        assert verify(lab.config, lambda: Connection(instance, DATABASE)) == []


def test_nothing_installed_is_one_finding():
    lab = Lab()
    lab.sa.execute("CREATE DATABASE bare;")
    (line,) = [
        line
        for line in verify(lab.config, lambda: Connection(lab.instance, "bare"))
        if "schema" in line
    ]
    assert line == "there is no schema [audit] in this database. Next: redial deploy."


def test_with_notifications_a_fresh_installation_is_what_its_files_say():
    lab = Lab(configured(operations={"notify_queue_off": True}))
    assert found_by(lab) == []


def test_a_notification_whose_conversation_has_ended_is_named_and_a_deployment_makes_it_anew():
    lab = Lab(configured(operations={"notify_queue_off": True}))
    lab.sa.execute(ENDED)
    lines = found_by(lab)
    assert {line.split(" Next: ")[1] for line in lines} == {DEPLOY}
    assert any("conversation is off, not on" in line for line in lines), lines
    deploy_again(lab)
    assert found_by(lab) == []


def test_users_and_the_schema_may_be_spelled_as_the_database_takes_for_the_same():
    """They were there before, and the database does not tell the spellings apart."""
    lab = Lab()
    sections = {"roles": AUDIT.roles.model_copy(update={"sender": "AUDIT_Sender"})}
    other = AUDIT.model_copy(update={**sections, "schema_name": "Audit"})
    lines = verify(other, lambda: Connection(lab.instance, "lab"))
    # only texts differ: a deployment would write the new spelling into them
    assert {line.split()[0] for line in lines} == {"module", "deployment"}, lines


def test_who_may_not_see_definitions_is_told_which_right_is_missing():
    lab = Lab()
    lab.sa.execute("CREATE USER looker WITHOUT LOGIN;")

    def connect() -> Any:
        connection = Connection(lab.instance, "lab")
        connection.cursor().execute("EXECUTE AS USER = N'looker';")
        return connection

    lines = verify(load(CONFIGS / "audit.toml"), connect)
    assert any("GRANT VIEW DEFINITION TO [looker];" in line for line in lines), lines
    assert not any("is missing" in line for line in lines)

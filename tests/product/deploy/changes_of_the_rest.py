"""What somebody does by hand to all that is no table: how it is mended, the statement, the finding."""

from __future__ import annotations

from .by_hand import ALLOWED, FILES, HOTFIX, NOBODY, PERSON, REFUSED, TAKEN, UNASKED, Change

CHANGES: dict[str, Change] = {
    "a sender that says yes and does nothing": Change(
        REFUSED,
        "ALTER PROCEDURE audit.usp_Send AS RETURN 0;",
        "module usp_Send has another text than the file",
    ),
    "a hotfix with our comment kept": Change(
        REFUSED,
        HOTFIX,
        "-    /* hotfix */",
    ),
    "a procedure made with the wrong settings": Change(
        FILES,
        "SET QUOTED_IDENTIFIER OFF; EXECUTE (N'{logerror}');",
        "module usp_LogError: QUOTED_IDENTIFIER is off, not on",
    ),
    "commits that a crash loses": Change(
        PERSON,
        "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED;",
        "database itself: delayed durability is forced, not as each COMMIT says",
    ),
    "an older compatibility level": Change(
        PERSON,
        "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;",
        "database itself: compatibility level is 120, not 130 or more",
    ),
    "everybody's route leads elsewhere": Change(
        ALLOWED,
        "ALTER ROUTE [AutoCreatedLocal] WITH ADDRESS = N'TCP://elsewhere:4022';",
        "route AutoCreatedLocal: address is TCP://elsewhere:4022, not LOCAL",
    ),
    "everybody's route ends one day": Change(
        ALLOWED,
        "ALTER ROUTE [AutoCreatedLocal] WITH LIFETIME = 3600;",
        "route AutoCreatedLocal: expires is 20",
    ),
    "everybody's route is for one service": Change(
        ALLOWED,
        "ALTER ROUTE [AutoCreatedLocal] WITH SERVICE_NAME = N'x';",
        "route AutoCreatedLocal: service is x, not nothing",
    ),
    "a binding for our service": Change(
        ALLOWED,
        "CREATE USER stranger WITHOUT LOGIN; CREATE REMOTE SERVICE BINDING theirs TO SERVICE "
        "N'//redial/audit/target' WITH USER = stranger;",
        "remote service binding theirs is there, and no file of this configuration makes it",
    ),
    "a signature of somebody's": Change(
        ALLOWED,
        "CREATE CERTIFICATE theirs ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
        "ADD SIGNATURE TO audit.usp_Health BY CERTIFICATE theirs WITH PASSWORD = N'Pa55word!';",
        "signature by theirs of usp_Health is there, and no file of this configuration makes it",
    ),
    "a deployment has stopped half way": Change(
        FILES,
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'deploy');",
        "a deployment has stopped half way (deploy)",
    ),
    "a later version has run": Change(
        NOBODY,
        "INSERT INTO audit.Migration (Number, Name) VALUES (7, N'later');",
        "migration 7 is there, and no file of this configuration makes it",
    ),
    "a view is dropped": Change(
        FILES,
        "DROP VIEW audit.vw_Errors;",
        "module vw_Errors is missing",
    ),
    "a function is dropped": Change(
        FILES,
        "DROP FUNCTION audit.ufn_QueuePages;",
        "module ufn_QueuePages is missing",
    ),
    "a trigger is dropped": Change(
        FILES,
        "DROP TRIGGER audit.Outbox_Insert;",
        "module Outbox_Insert of Outbox is missing",
    ),
    "a trigger of our name on another table of ours": Change(
        TAKEN,
        "DROP TRIGGER audit.Outbox_Insert; EXECUTE (N'CREATE TRIGGER audit.Outbox_Insert ON audit.Landing "
        "AFTER INSERT AS RETURN;');",
        "module Outbox_Insert of Outbox is missing",
    ),
    "our trigger on another table": Change(
        TAKEN,
        "DROP TRIGGER audit.Outbox_Insert; EXECUTE (N'CREATE TRIGGER audit.Outbox_Insert ON audit.Landing "
        "AFTER INSERT AS /* Redial 0.1.0, configuration audit */ RETURN;');",
        "module Outbox_Insert of Outbox is missing",
    ),
    "a table in a procedure's place": Change(
        PERSON,
        "DROP PROCEDURE audit.usp_LogError; CREATE TABLE audit.usp_LogError (A int NOT NULL);",
        "table usp_LogError is there, and no file",
    ),
    "a check in a procedure's place": Change(
        TAKEN,
        "DROP PROCEDURE audit.usp_LogError; ALTER TABLE audit.Landing ADD CONSTRAINT usp_LogError CHECK "
        "(MessageSequence >= 0);",
        "module usp_LogError is missing",
    ),
    "a trigger is switched off": Change(
        UNASKED,
        "DISABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;",
        "module Outbox_Insert of Outbox: fires is off, not on",
    ),
    "a procedure nobody knows": Change(
        PERSON,
        "CREATE PROCEDURE audit.usp_Mine AS RETURN 0;",
        "module usp_Mine is there, and no file",
    ),
    "a trigger on our table": Change(
        ALLOWED,
        "CREATE TRIGGER audit.Watch ON audit.SessionConversations AFTER INSERT AS RETURN;",
        "module Watch of SessionConversations is there, and no file",
    ),
    "a trigger of another schema on our table": Change(
        ALLOWED,
        "EXECUTE (N'CREATE SCHEMA other;'); EXECUTE (N'CREATE TABLE other.T (A int);'); EXECUTE "
        "(N'CREATE TRIGGER audit.Far ON audit.Landing AFTER INSERT AS RETURN;');",
        "module Far of Landing is there, and no file",
    ),
    "a queue is off": Change(
        ALLOWED,
        "ALTER QUEUE audit.InitiatorQueue WITH STATUS = OFF;",
        "queue InitiatorQueue: receive is off, not on",
    ),
    "retention": Change(
        UNASKED,
        "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;",
        "queue TargetQueue: retention is on, not off",
    ),
    "poison handling": Change(
        UNASKED,
        "ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = OFF);",
        "queue TargetQueue: poison handling is off, not on",
    ),
    "activation": Change(
        ALLOWED,
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",
        "queue TargetQueue: activation is off, not on",
    ),
    "no activation at all": Change(
        FILES,
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (DROP);",
        "queue TargetQueue: procedure is nothing, not usp_TargetActivation",
    ),
    "another reader": Change(
        FILES,
        "EXECUTE (N'CREATE PROCEDURE dbo.Reader AS RETURN 0;'); ALTER QUEUE audit.TargetQueue "
        "WITH ACTIVATION (PROCEDURE_NAME = dbo.Reader);",
        "queue TargetQueue: procedure is dbo.Reader, not usp_TargetActivation",
    ),
    "one reader": Change(
        FILES,
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (MAX_QUEUE_READERS = 1);",
        "queue TargetQueue: readers is 1, not 4",
    ),
    "a reader who is somebody else": Change(
        FILES,
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (EXECUTE AS OWNER);",
        "queue TargetQueue: execute as is",
    ),
    "a service on another queue": Change(
        FILES,
        "ALTER SERVICE [//redial/audit/initiator] ON QUEUE audit.TargetQueue;",
        "service //redial/audit/initiator: queue is TargetQueue, not InitiatorQueue",
    ),
    "a service without its contract": Change(
        FILES,
        "ALTER SERVICE [//redial/audit/target] (DROP CONTRACT [//redial/audit/contract]);",
        "contract //redial/audit/contract of //redial/audit/target is missing",
    ),
    "a service with a contract of others": Change(
        ALLOWED,
        "CREATE CONTRACT [theirs] ([EndOfStream] SENT BY ANY); ALTER SERVICE "
        "[//redial/audit/target] (ADD CONTRACT [theirs]);",
        "contract theirs of //redial/audit/target is there, and no file",
    ),
    "a service on our queue": Change(
        PERSON,
        "CREATE SERVICE [theirs] ON QUEUE audit.TargetQueue;",
        "service theirs is there, and no file",
    ),
    "the owner of a service": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON SERVICE::[//redial/audit/target] TO dbo;",
        "service //redial/audit/target: owner is dbo, not audit_module",
    ),
    "the owner of a contract": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON CONTRACT::[//redial/audit/contract] TO audit_module;",
        "contract //redial/audit/contract: owner is audit_module, not dbo",
    ),
    "the owner of a message type": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON MESSAGE TYPE::[//redial/audit/event] TO audit_module;",
        "message type //redial/audit/event: owner is audit_module, not dbo",
    ),
    "another validation": Change(
        FILES,
        "ALTER MESSAGE TYPE [EndOfStream] VALIDATION = NONE;",
        "message type EndOfStream: validation is none, not empty",
    ),
    "a choice changed by hand": Change(
        FILES,
        "UPDATE audit.Setting SET Value = N'9' WHERE Name = N'pool.size';",
        "setting pool.size: value is 9, not 0",
    ),
    "a choice is gone": Change(
        FILES,
        "DELETE FROM audit.Setting WHERE Name = N'pool.size';",
        "setting pool.size is missing",
    ),
    "other files were deployed last": Change(
        FILES,
        "UPDATE audit.DeploymentHistory SET ContentHash = N'0123';",
        "deployment last: content is 0123, not ",
    ),
    "a closed gate": Change(
        PERSON,
        "UPDATE audit.Gate SET IsOpen = 0, Reason = N'lunch';",
        "gate 1: state is closed by",
    ),
    "an event notification of others": Change(
        ALLOWED,
        "CREATE EVENT NOTIFICATION [theirs] ON QUEUE audit.TargetQueue FOR BROKER_QUEUE_DISABLED "
        "TO SERVICE N'//redial/audit/target', N'current database';",
        "event notification theirs of TargetQueue is there, and no file",
    ),
    "a priority for our dialogs": Change(
        ALLOWED,
        "CREATE BROKER PRIORITY [theirs] FOR CONVERSATION SET (LOCAL_SERVICE_NAME = "
        "[//redial/audit/target], PRIORITY_LEVEL = 1);",
        "broker priority theirs is there, and no file",
    ),
    "a synonym in our schema": Change(
        PERSON,
        "CREATE SYNONYM audit.Elsewhere FOR dbo.Anything;",
        "object Elsewhere (SN) is there, and no file",
    ),
    "a sequence in our schema": Change(
        PERSON,
        "CREATE SEQUENCE audit.Numbers AS int START WITH 1;",
        "object Numbers (SO) is there, and no file",
    ),
    "an owner of its own for a module": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON OBJECT::audit.usp_Send TO dbo;",
        "module usp_Send: owner is dbo, not nothing",
    ),
    "an owner of its own for a queue": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON OBJECT::audit.TargetQueue TO dbo;",
        "queue TargetQueue: owner is dbo, not nothing",
    ),
    "a procedure that nobody can read": Change(
        PERSON,
        "ALTER PROCEDURE audit.usp_StartQueue WITH ENCRYPTION AS RETURN 0;",
        "module usp_StartQueue: its text is encrypted, or hidden from this login",
    ),
    "a view that nobody can read": Change(
        PERSON,
        "EXECUTE (N'ALTER VIEW audit.vw_Errors WITH ENCRYPTION AS SELECT 1 AS a;');",
        "module vw_Errors: its text is encrypted, or hidden from this login",
    ),
    "a route that leads our messages elsewhere": Change(
        ALLOWED,
        "CREATE ROUTE [theirs] WITH SERVICE_NAME = N'//redial/audit/target', ADDRESS = "
        "N'TCP://elsewhere:4022';",
        "route theirs is there, and no file",
    ),
    "no way within the instance": Change(
        UNASKED,
        "DROP ROUTE [AutoCreatedLocal];",
        "route AutoCreatedLocal is missing",
    ),
    "the row of the gate is gone": Change(
        FILES,
        "DELETE FROM audit.Gate;",
        "gate 1 is missing",
    ),
    "a schema of the module user": Change(
        PERSON,
        "EXECUTE (N'CREATE SCHEMA theirs AUTHORIZATION audit_module;');",
        "schema theirs of audit_module is there, and no file",
    ),
    "our contract on the other service": Change(
        ALLOWED,
        "ALTER SERVICE [//redial/audit/initiator] (ADD CONTRACT [//redial/audit/contract]);",
        "contract //redial/audit/contract of //redial/audit/initiator is there, and no file",
    ),
    "a choice nobody knows": Change(
        UNASKED,
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'pool.sizee', N'3');",
        "setting pool.sizee is there, and no file",
    ),
    "a second gate": Change(
        ALLOWED,
        "INSERT INTO audit.Gate (ConfigId, IsOpen, ChangedBy, ChangedUtc, Reason) SELECT 2, 1, "
        "ChangedBy, ChangedUtc, Reason FROM audit.Gate;",
        "gate 2 is there, and no file",
    ),
    "a queue without its mark": Change(
        FILES,
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SCHEMA', N'audit', N'QUEUE', "
        "N'TargetQueue';",
        "mark QUEUE of TargetQueue is missing",
    ),
    "another configuration's mark on our service": Change(
        PERSON,
        "EXECUTE sys.sp_addextendedproperty N'Redial.user.99', N'x', N'SERVICE', "
        "N'//redial/audit/target';",
        "mark of another configuration Redial.user.99 of SERVICE //redial/audit/target is there",
    ),
    "a database for administrators only": Change(
        PERSON,
        "ALTER DATABASE lab SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE;",
        "database itself: open to is restricted user, not multi user",
    ),
    "a sender's procedure that somebody renamed": Change(
        PERSON,
        "EXECUTE sp_rename N'audit.usp_LogError', N'usp_LogError_old';",
        "module usp_LogError_old is there, and no file",
    ),
    "a priority for all dialogs": Change(
        ALLOWED,
        "CREATE BROKER PRIORITY [all] FOR CONVERSATION SET (PRIORITY_LEVEL = 10);",
        "broker priority all is there, and no file",
    ),
    "a priority for whatever uses our contract": Change(
        ALLOWED,
        "CREATE BROKER PRIORITY [theirs] FOR CONVERSATION SET (CONTRACT_NAME = "
        "[//redial/audit/contract], PRIORITY_LEVEL = 10);",
        "broker priority theirs is there, and no file",
    ),
    "a procedure elsewhere that runs as our module user": Change(
        NOBODY,
        "EXECUTE (N'CREATE PROCEDURE dbo.p WITH EXECUTE AS N''audit_module'' AS DELETE FROM "
        "audit.Landing;');",
        "module or queue of others dbo.p that runs as audit_module is there, and no file",
    ),
    "an XML schema in our schema": Change(
        PERSON,
        "CREATE XML SCHEMA COLLECTION audit.xs AS N'<xs:schema "
        'xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>\';',
        "XML schema collection xs is there, and no file",
    ),
    "the history names another configuration": Change(
        NOBODY,
        "UPDATE audit.DeploymentHistory SET ConfigName = N'other';",
        "deployment last: configuration is other, not audit",
    ),
    "the broker is off": Change(
        FILES,
        "ALTER DATABASE lab SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;",
        "database itself: Service Broker is off, not on",
    ),
    "a queue is gone": Change(
        FILES,
        "DROP SERVICE [//redial/audit/target]; DROP QUEUE audit.TargetQueue;",
        "queue TargetQueue is missing",
    ),
    "a service is gone": Change(
        FILES,
        "DROP SERVICE [//redial/audit/initiator];",
        "service //redial/audit/initiator is missing",
    ),
    "a contract is gone": Change(
        FILES,
        "ALTER SERVICE [//redial/audit/target] (DROP CONTRACT [//redial/audit/contract]); DROP "
        "CONTRACT [//redial/audit/contract];",
        "contract //redial/audit/contract is missing",
    ),
    "a queue of somebody's": Change(
        PERSON,
        "CREATE QUEUE audit.Mine;",
        "queue Mine is there, and no file",
    ),
    "a synonym in a view's place": Change(
        TAKEN,
        "DROP VIEW audit.vw_Errors; CREATE SYNONYM audit.vw_Errors FOR dbo.Anything;",
        "module vw_Errors is missing",
    ),
    "a view in a procedure's place": Change(
        REFUSED,
        "DROP PROCEDURE audit.usp_LogError; EXECUTE (N'CREATE VIEW audit.usp_LogError AS SELECT "
        "1 AS a;');",
        "module usp_LogError has another text",
    ),
    "a function of another kind": Change(
        REFUSED,
        "DROP FUNCTION audit.ufn_QueuePages; EXECUTE (N'CREATE FUNCTION audit.ufn_QueuePages() "
        "RETURNS int AS BEGIN RETURN 1 END;');",
        "module ufn_QueuePages has another text",
    ),
    "a procedure in another schema": Change(
        FILES,
        "ALTER SCHEMA dbo TRANSFER audit.usp_LogError;",
        "module usp_LogError is missing",
    ),
    "a queue that takes nothing": Change(
        ALLOWED,
        "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;",
        "queue TargetQueue: enqueue is off, not on",
    ),
    "a message type is gone": Change(
        FILES,
        "ALTER SERVICE [//redial/audit/target] (DROP CONTRACT [//redial/audit/contract]); "
        "DROP CONTRACT [//redial/audit/contract]; DROP MESSAGE TYPE [EndOfStream];",
        "message type EndOfStream is missing",
    ),
    "messages of a schema": Change(
        FILES,
        "CREATE XML SCHEMA COLLECTION dbo.xs AS N'<xs:schema xmlns:xs="
        '"http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>\'; '
        "ALTER MESSAGE TYPE [EndOfStream] VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.xs;",
        "message type EndOfStream: schema is xs, not nothing",
    ),
    "a database that sleeps": Change(
        PERSON,
        "ALTER DATABASE CURRENT SET AUTO_CLOSE ON;",
        "database itself: auto close is on, not off",
    ),
    "a database that is only read": Change(
        PERSON,
        "ALTER DATABASE lab SET READ_ONLY WITH ROLLBACK IMMEDIATE;",
        "database itself: read only is on, not off",
    ),
    "the history is gone": Change(
        FILES,
        "DELETE FROM audit.DeploymentHistory;",
        "deployment last is missing",
    ),
    "the history names another version": Change(
        NOBODY,
        "UPDATE audit.DeploymentHistory SET Version = N'0';",
        "deployment last: version is 0, not ",
    ),
}

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service, and an owner needs no grant. One on another queue than the configuration
   names is moved: 38_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
BEGIN
    CREATE SERVICE [//redial/audit/initiator] AUTHORIZATION [audit_module]
        ON QUEUE [audit].[InitiatorQueue];
    EXECUTE [audit].[usp_Mark] N'SERVICE', N'//redial/audit/initiator';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'))
    ALTER SERVICE [//redial/audit/initiator] ON QUEUE [audit].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
BEGIN
    CREATE SERVICE [//redial/audit/target] AUTHORIZATION [audit_module]
        ON QUEUE [audit].[TargetQueue] ([//redial/audit/contract]);
    EXECUTE [audit].[usp_Mark] N'SERVICE', N'//redial/audit/target';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
    ALTER SERVICE [//redial/audit/target] ON QUEUE [audit].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
    ALTER SERVICE [//redial/audit/target] (ADD CONTRACT [//redial/audit/contract]);
COMMIT TRANSACTION;
GO

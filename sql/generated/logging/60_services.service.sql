SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service, and an owner needs no grant. One on another queue than the configuration
   names is moved: 38_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator')
BEGIN
    CREATE SERVICE [//redial/logging/initiator] AUTHORIZATION [logging_module]
        ON QUEUE [logging].[InitiatorQueue];
    EXECUTE [logging].[usp_Mark] N'SERVICE', N'//redial/logging/initiator';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ'))
    ALTER SERVICE [//redial/logging/initiator] ON QUEUE [logging].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target')
BEGIN
    CREATE SERVICE [//redial/logging/target] AUTHORIZATION [logging_module]
        ON QUEUE [logging].[TargetQueue] ([//redial/logging/contract]);
    EXECUTE [logging].[usp_Mark] N'SERVICE', N'//redial/logging/target';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target'
                      AND s.service_queue_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ'))
    ALTER SERVICE [//redial/logging/target] ON QUEUE [logging].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract')
    ALTER SERVICE [//redial/logging/target] (ADD CONTRACT [//redial/logging/contract]);
COMMIT TRANSACTION;
GO

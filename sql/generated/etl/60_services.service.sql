SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service, and an owner needs no grant. One on another queue than the configuration
   names is moved: 38_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator')
BEGIN
    CREATE SERVICE [//redial/etl/initiator] AUTHORIZATION [etl_module]
        ON QUEUE [etl].[InitiatorQueue];
    EXECUTE [etl].[usp_Mark] N'SERVICE', N'//redial/etl/initiator';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ'))
    ALTER SERVICE [//redial/etl/initiator] ON QUEUE [etl].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target')
BEGIN
    CREATE SERVICE [//redial/etl/target] AUTHORIZATION [etl_module]
        ON QUEUE [etl].[TargetQueue] ([//redial/etl/contract]);
    EXECUTE [etl].[usp_Mark] N'SERVICE', N'//redial/etl/target';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target'
                      AND s.service_queue_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ'))
    ALTER SERVICE [//redial/etl/target] ON QUEUE [etl].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/etl/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/etl/contract')
    ALTER SERVICE [//redial/etl/target] (ADD CONTRACT [//redial/etl/contract]);
COMMIT TRANSACTION;
GO

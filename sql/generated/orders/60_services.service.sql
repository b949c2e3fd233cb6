SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service, and an owner needs no grant. One on another queue than the configuration
   names is moved: 38_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/initiator')
BEGIN
    CREATE SERVICE [//redial/orders/initiator] AUTHORIZATION [orders_module]
        ON QUEUE [orders].[InitiatorQueue];
    EXECUTE [orders].[usp_Mark] N'SERVICE', N'//redial/orders/initiator';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ'))
    ALTER SERVICE [//redial/orders/initiator] ON QUEUE [orders].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/target')
BEGIN
    CREATE SERVICE [//redial/orders/target] AUTHORIZATION [orders_module]
        ON QUEUE [orders].[TargetQueue] ([//redial/orders/contract]);
    EXECUTE [orders].[usp_Mark] N'SERVICE', N'//redial/orders/target';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/target'
                      AND s.service_queue_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ'))
    ALTER SERVICE [//redial/orders/target] ON QUEUE [orders].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/orders/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/orders/contract')
    ALTER SERVICE [//redial/orders/target] (ADD CONTRACT [//redial/orders/contract]);
COMMIT TRANSACTION;
GO

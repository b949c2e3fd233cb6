SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Level 3 for conversations begun from now on, both sides: each endpoint is matched by itself, when
   it is made, and keeps its level (CREATE BROKER PRIORITY page). RECEIVE takes higher ones first, always.
   What goes to another instance is sent first only if HONOR_BROKER_PRIORITY is on; inside one instance
   that option does nothing. It is not switched on here: ALTER DATABASE ... SET HONOR_BROKER_PRIORITY ON
   needs the database for itself, and is for you to do in a quiet hour. */
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/initiator')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/logging/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/initiator],
             REMOTE_SERVICE_NAME = N'//redial/logging/target',
             PRIORITY_LEVEL = 3);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/initiator')
        INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/logging/initiator');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 05_03 has refused. */
ELSE IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/initiator')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/logging/initiator'
                      AND cp.priority = 3
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/logging/target')
BEGIN
    ALTER BROKER PRIORITY [redial/logging/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/initiator],
             REMOTE_SERVICE_NAME = N'//redial/logging/target',
             PRIORITY_LEVEL = 3);
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/target')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/logging/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/target],
             REMOTE_SERVICE_NAME = N'//redial/logging/initiator',
             PRIORITY_LEVEL = 3);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/target')
        INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/logging/target');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 05_03 has refused. */
ELSE IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/target')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/logging/target'
                      AND cp.priority = 3
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator')
BEGIN
    ALTER BROKER PRIORITY [redial/logging/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/target],
             REMOTE_SERVICE_NAME = N'//redial/logging/initiator',
             PRIORITY_LEVEL = 3);
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl'));
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE SERVICE [//redial/etl/initiator]
        AUTHORIZATION [etl_module]
        ON QUEUE [etl].[InitiatorQueue];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SERVICE', @level0name = N'//redial/etl/initiator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
            @level0type = N'SERVICE', @level0name = N'//redial/etl/initiator';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* The configuration names another queue: 38_change has drained, so nothing is in the old one. */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ'))
BEGIN
    ALTER SERVICE [//redial/etl/initiator] ON QUEUE [etl].[InitiatorQueue];
END;
GO
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl'));
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE SERVICE [//redial/etl/target]
        AUTHORIZATION [etl_module]
        ON QUEUE [etl].[TargetQueue] ([//redial/etl/contract]);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SERVICE', @level0name = N'//redial/etl/target';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
            @level0type = N'SERVICE', @level0name = N'//redial/etl/target';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* The configuration names another queue: 38_change has drained, so nothing is in the old one. */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target'
                      AND s.service_queue_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ'))
BEGIN
    ALTER SERVICE [//redial/etl/target] ON QUEUE [etl].[TargetQueue];
END;
GO
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/etl/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/etl/contract')
BEGIN
    ALTER SERVICE [//redial/etl/target] (ADD CONTRACT [//redial/etl/contract]);
END;
GO

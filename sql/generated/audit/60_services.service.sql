SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE SERVICE [//redial/audit/initiator]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[InitiatorQueue];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'SERVICE', @level0name = N'//redial/audit/initiator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'audit',
            @level0type = N'SERVICE', @level0name = N'//redial/audit/initiator';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* The configuration names another queue: 38_change has drained, so nothing is in the old one. */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'))
BEGIN
    ALTER SERVICE [//redial/audit/initiator] ON QUEUE [audit].[InitiatorQueue];
END;
GO
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE SERVICE [//redial/audit/target]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[TargetQueue] ([//redial/audit/contract]);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'SERVICE', @level0name = N'//redial/audit/target';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'audit',
            @level0type = N'SERVICE', @level0name = N'//redial/audit/target';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* The configuration names another queue: 38_change has drained, so nothing is in the old one. */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
BEGIN
    ALTER SERVICE [//redial/audit/target] ON QUEUE [audit].[TargetQueue];
END;
GO
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
BEGIN
    ALTER SERVICE [//redial/audit/target] (ADD CONTRACT [//redial/audit/contract]);
END;
GO

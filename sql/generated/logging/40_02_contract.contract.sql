SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every message is sent by the initiator. Owned by dbo, see the message types. */
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging'));
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE CONTRACT [//redial/logging/contract]
        AUTHORIZATION [dbo]
    (
        [//redial/logging/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'CONTRACT', @level0name = N'//redial/logging/contract';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 16   /* CONTRACT */
                     AND ep.major_id = (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
            @level0type = N'CONTRACT', @level0name = N'//redial/logging/contract';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;

IF (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 16   /* CONTRACT */
                 AND ep.major_id = (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
        @level0type = N'CONTRACT', @level0name = N'//redial/logging/contract';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
/* BEGIN DIALOG needs REFERENCES on the contract (begin-dialog-conversation page); the owner is dbo.
   On the types it makes them visible to usp_AcquireConversation (metadata-visibility-configuration). */
GRANT REFERENCES ON CONTRACT::[//redial/logging/contract] TO [logging_module];
GRANT REFERENCES ON MESSAGE TYPE::[//redial/logging/event] TO [logging_module];
GRANT REFERENCES ON MESSAGE TYPE::[EndOfStream] TO [logging_module];
GO

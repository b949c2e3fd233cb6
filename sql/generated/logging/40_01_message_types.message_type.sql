SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by dbo, not by our user: another configuration may share a type and outlive us. */
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging'));
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE MESSAGE TYPE [//redial/logging/event]
        AUTHORIZATION [dbo]
        VALIDATION = NONE;
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'MESSAGE TYPE', @level0name = N'//redial/logging/event';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 15   /* MESSAGE TYPE */
                     AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
            @level0type = N'MESSAGE TYPE', @level0name = N'//redial/logging/event';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* Another validation than the configuration's: mended where the type is ours alone. 38_change has
   refused anything else, and has drained (what is on its way was validated by the old rule). */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                    WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event' AND mt.validation = 'N')
BEGIN
    ALTER MESSAGE TYPE [//redial/logging/event] VALIDATION = NONE;
END;

IF (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
        @level0type = N'MESSAGE TYPE', @level0name = N'//redial/logging/event';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
DECLARE @property int;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging'));
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [dbo]
        VALIDATION = EMPTY;
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'MESSAGE TYPE', @level0name = N'EndOfStream';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream') IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 15   /* MESSAGE TYPE */
                     AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
                     AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
            @level0type = N'MESSAGE TYPE', @level0name = N'EndOfStream';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
END;
/* Another validation than the configuration's: mended where the type is ours alone. 38_change has
   refused anything else, and has drained (what is on its way was validated by the old rule). */
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                    WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation = 'E')
BEGIN
    ALTER MESSAGE TYPE [EndOfStream] VALIDATION = EMPTY;
END;

IF (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'logging',
        @level0type = N'MESSAGE TYPE', @level0name = N'EndOfStream';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by dbo, not by our user: another configuration may share a type and outlive us. One of another
   validation is mended where it is ours alone: 38_change has refused anything else, and has drained (what
   is on its way was validated by the old rule). */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/logging/event] AUTHORIZATION [dbo] VALIDATION = NONE;
    EXECUTE [logging].[usp_Mark] N'MESSAGE TYPE', N'//redial/logging/event';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/logging/event' AND mt.validation = 'N')
        ALTER MESSAGE TYPE [//redial/logging/event] VALIDATION = NONE;
    EXECUTE [logging].[usp_Mark] N'MESSAGE TYPE', N'//redial/logging/event', @made = 0;
END;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream] AUTHORIZATION [dbo] VALIDATION = EMPTY;
    EXECUTE [logging].[usp_Mark] N'MESSAGE TYPE', N'EndOfStream';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation = 'E')
        ALTER MESSAGE TYPE [EndOfStream] VALIDATION = EMPTY;
    EXECUTE [logging].[usp_Mark] N'MESSAGE TYPE', N'EndOfStream', @made = 0;
END;
COMMIT TRANSACTION;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/logging/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/logging/event]
        AUTHORIZATION [logging_module]
        VALIDATION = NONE;
    INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'//redial/logging/event');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [logging_module]
        VALIDATION = EMPTY;
    INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'EndOfStream');
END;
GO

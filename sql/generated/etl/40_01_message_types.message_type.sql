SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/etl/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/etl/event]
        AUTHORIZATION [etl_module]
        VALIDATION = NONE;
    INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'//redial/etl/event');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [etl_module]
        VALIDATION = EMPTY;
    INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'EndOfStream');
END;
GO

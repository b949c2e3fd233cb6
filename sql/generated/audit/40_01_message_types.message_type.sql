SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/audit/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/audit/event]
        AUTHORIZATION [audit_module]
        VALIDATION = NONE;
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'//redial/audit/event');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [audit_module]
        VALIDATION = EMPTY;
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'EndOfStream');
END;
GO

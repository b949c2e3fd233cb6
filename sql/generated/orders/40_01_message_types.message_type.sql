SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/orders/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/orders/event]
        AUTHORIZATION [orders_module]
        VALIDATION = NONE;
    INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'//redial/orders/event');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [orders_module]
        VALIDATION = EMPTY;
    INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'EndOfStream');
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every type is sent by the initiator. */
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/logging/contract')
BEGIN
    CREATE CONTRACT [//redial/logging/contract]
        AUTHORIZATION [logging_module]
    (
        [//redial/logging/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'CONTRACT', N'//redial/logging/contract');
END;
GO

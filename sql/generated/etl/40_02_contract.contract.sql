SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every type is sent by the initiator. */
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/etl/contract')
BEGIN
    CREATE CONTRACT [//redial/etl/contract]
        AUTHORIZATION [etl_module]
    (
        [//redial/etl/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'CONTRACT', N'//redial/etl/contract');
END;
GO

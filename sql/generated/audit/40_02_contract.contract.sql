SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every type is sent by the initiator. */
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/audit/contract')
BEGIN
    CREATE CONTRACT [//redial/audit/contract]
        AUTHORIZATION [audit_module]
    (
        [//redial/audit/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'CONTRACT', N'//redial/audit/contract');
END;
GO

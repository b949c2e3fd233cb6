SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/audit/initiator')
BEGIN
    CREATE SERVICE [//redial/audit/initiator]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[InitiatorQueue];
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/audit/initiator');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/audit/target')
BEGIN
    CREATE SERVICE [//redial/audit/target]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[TargetQueue] ([//redial/audit/contract]);
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/audit/target');
END;
GO

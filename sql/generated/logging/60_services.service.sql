SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/logging/initiator')
BEGIN
    CREATE SERVICE [//redial/logging/initiator]
        AUTHORIZATION [logging_module]
        ON QUEUE [logging].[InitiatorQueue];
    INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/logging/initiator');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/logging/target')
BEGIN
    CREATE SERVICE [//redial/logging/target]
        AUTHORIZATION [logging_module]
        ON QUEUE [logging].[TargetQueue] ([//redial/logging/contract]);
    INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/logging/target');
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/etl/initiator')
BEGIN
    CREATE SERVICE [//redial/etl/initiator]
        AUTHORIZATION [etl_module]
        ON QUEUE [etl].[InitiatorQueue];
    INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/etl/initiator');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/etl/target')
BEGIN
    CREATE SERVICE [//redial/etl/target]
        AUTHORIZATION [etl_module]
        ON QUEUE [etl].[TargetQueue] ([//redial/etl/contract]);
    INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/etl/target');
END;
GO

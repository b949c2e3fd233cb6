SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/orders/initiator')
BEGIN
    CREATE SERVICE [//redial/orders/initiator]
        AUTHORIZATION [orders_module]
        ON QUEUE [orders].[InitiatorQueue];
    INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/orders/initiator');
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/orders/target')
BEGIN
    CREATE SERVICE [//redial/orders/target]
        AUTHORIZATION [orders_module]
        ON QUEUE [orders].[TargetQueue] ([//redial/orders/contract]);
    INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/orders/target');
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every type is sent by the initiator. */
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/orders/contract')
BEGIN
    CREATE CONTRACT [//redial/orders/contract]
        AUTHORIZATION [orders_module]
    (
        [//redial/orders/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'CONTRACT', N'//redial/orders/contract');
END;
GO

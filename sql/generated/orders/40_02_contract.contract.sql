SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every message is sent by the initiator. Owned by dbo, see the message types. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/orders/contract')
BEGIN
    CREATE CONTRACT [//redial/orders/contract] AUTHORIZATION [dbo]
    (
        [//redial/orders/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    EXECUTE [orders].[usp_Mark] N'CONTRACT', N'//redial/orders/contract';
END
ELSE
    EXECUTE [orders].[usp_Mark] N'CONTRACT', N'//redial/orders/contract', @made = 0;

/* BEGIN DIALOG needs REFERENCES on the contract (begin-dialog-conversation page); the owner is dbo.
   On the types it makes them visible to usp_AcquireConversation (metadata-visibility-configuration). */
GRANT REFERENCES ON CONTRACT::[//redial/orders/contract] TO [orders_module];
GRANT REFERENCES ON MESSAGE TYPE::[//redial/orders/event] TO [orders_module];
GRANT REFERENCES ON MESSAGE TYPE::[EndOfStream] TO [orders_module];
COMMIT TRANSACTION;
GO

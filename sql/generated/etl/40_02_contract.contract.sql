SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every message is sent by the initiator. Owned by dbo, see the message types. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/etl/contract')
BEGIN
    CREATE CONTRACT [//redial/etl/contract] AUTHORIZATION [dbo]
    (
        [//redial/etl/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    EXECUTE [etl].[usp_Mark] N'CONTRACT', N'//redial/etl/contract';
END
ELSE
    EXECUTE [etl].[usp_Mark] N'CONTRACT', N'//redial/etl/contract', @made = 0;

/* BEGIN DIALOG needs REFERENCES on the contract (begin-dialog-conversation page); the owner is dbo.
   On the types it makes them visible to usp_AcquireConversation (metadata-visibility-configuration). */
GRANT REFERENCES ON CONTRACT::[//redial/etl/contract] TO [etl_module];
GRANT REFERENCES ON MESSAGE TYPE::[//redial/etl/event] TO [etl_module];
GRANT REFERENCES ON MESSAGE TYPE::[EndOfStream] TO [etl_module];
COMMIT TRANSACTION;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Where to look for the everlasting dialog first: one row, so that a send asks the catalog for one
   handle and not for all endpoints of a group. A proposal only: the catalog's view and
   ConversationLog decide whether it can be sent on. Written by who holds the dialog's group, because it
   has just begun it or sent on it; read with NOLOCK: nobody waits for it. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[Everlasting]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[Everlasting]
    (
        ConfigId int NOT NULL,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        Sent bigint NOT NULL            /* messages sent on it: the next one's number */
            CONSTRAINT [DF_Everlasting_Sent] DEFAULT (0),
        TransactionId bigint NULL,      /* who sent on it last: stays on it to its end */
        CONSTRAINT [PK_Everlasting] PRIMARY KEY CLUSTERED (ConfigId)
    );
    ALTER TABLE [logging].[Everlasting] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [logging].[usp_Mark] N'TABLE', N'Everlasting';
    COMMIT TRANSACTION;
END;
GO

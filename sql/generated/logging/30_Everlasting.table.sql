SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Where to look for the everlasting dialog first: one row, so that a send asks the catalog for one
   handle and not for all endpoints of a group (F-153). A proposal only: the catalog's view and
   ConversationLog decide whether it can be sent on. Written by who holds the dialog's group, because it
   has just begun it or sent on it; read with NOLOCK: nobody waits for it. */
IF OBJECT_ID(N'[logging].[Everlasting]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[Everlasting]
    (
        ConfigId int NOT NULL,
        Handle uniqueidentifier NOT NULL,
        CONSTRAINT [PK_Everlasting] PRIMARY KEY CLUSTERED (ConfigId)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    ALTER TABLE [logging].[Everlasting] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging', @level1type = N'TABLE', @level1name = N'Everlasting';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
/* Added, with defaults: the usp_Send of before the copies goes on until 38_change has closed the gate and
   ended its dialog. */
IF COL_LENGTH(N'[logging].[Everlasting]', N'TransactionId') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    ALTER TABLE [logging].[Everlasting] ADD
        ConversationId uniqueidentifier NOT NULL
            CONSTRAINT [DF_Everlasting_ConversationId] DEFAULT ('00000000-0000-0000-0000-000000000000'),
        TransactionId bigint NULL;      /* who sent on it last: stays on it to its end (F-464) */
    COMMIT TRANSACTION;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Where to look for the everlasting dialog first: one row, so that a send asks the catalog for one
   handle and not for all endpoints of a group (F-153). A proposal only: the catalog's view and
   ConversationLog decide whether it can be sent on. Written by who holds the dialog's group and has
   just begun it, read with NOLOCK: nobody waits for it. */
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
/* An installation from before this table has its dialog already. */
IF NOT EXISTS (SELECT 1 FROM [logging].[Everlasting])
BEGIN
    INSERT INTO [logging].[Everlasting] (ConfigId, Handle)
    SELECT TOP (1) 1, ce.conversation_handle
    FROM sys.conversation_endpoints AS ce
        /* NOLOCK: waits for nobody (F-126). A dialog whose beginner has not committed is found too:
           SEND then waits for its group, and raises 8426 if it was rolled back (F-153). */
        WITH (NOLOCK)
    WHERE ce.conversation_group_id = '54A9E148-F784-5F6A-830F-1A6F292962F7'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND NOT EXISTS (SELECT 1
                      FROM [logging].[ConversationLog] AS cl
                          WITH (FORCESEEK)      /* this dialog's row: one that was told to close */
                      WHERE cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL)
    ORDER BY ce.conversation_handle;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_CloseDialogs]
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @passes int OUTPUT,
    @recycled bigint OUTPUT,            /* dialogs closed: EndOfStream was sent, or they were dead */
    @left bigint OUTPUT,                /* dialogs senders could still use; NULL: one is busy */
    @Debug bit = 0                      /* 1: print each pass */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Closes every dialog that senders use, for usp_Drain, with the gate closed and committed. Called outside
   a transaction; waits for no single lock longer than a second. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @dialogs TABLE (DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Handle uniqueidentifier NOT NULL);
    DECLARE @id int, @handle uniqueidentifier, @result int;

    SELECT @passes = 0, @recycled = 0, @left = NULL;
    WHILE 1 = 1
    BEGIN
        SET @passes = @passes + 1;

        /* A list of whom to visit, no decision: NOLOCK waits for nobody, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration's rows only. No cursor: each visit commits,
           and CURSOR_CLOSE_ON_COMMIT may be on. */
        DELETE FROM @dialogs;
        INSERT INTO @dialogs (Handle)
        SELECT sc.Handle
        FROM [etl].[SessionConversations] AS sc
            WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.BegunUtc IS NOT NULL;

        WHILE EXISTS (SELECT 1 FROM @dialogs)
        BEGIN
            SELECT TOP (1) @id = d.DialogId, @handle = d.Handle FROM @dialogs AS d ORDER BY d.DialogId;
            DELETE FROM @dialogs WHERE DialogId = @id;

            /* NOWAIT inside: a busy row is left to the next pass. */
            EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
            IF @result = 0
                SET @recycled = @recycled + 1;
        END;

        /* The look that decides, with locks: a sender that read the gate open has inserted or locked
           its row before, and is met here. READPAST would miss it, NOLOCK would count what rolls back.
           UPDLOCK: the lock of a sender that has only looked its row up is a U lock, which a plain
           read passes; a slot it is about to use still reads as unused. NOWAIT: error 1222 instead of a wait. All rows, no filter that
           could be tried before the lock is. */
        SET @left = NULL;
        BEGIN TRY
            SELECT @left = ISNULL(SUM(CASE WHEN sc.BegunUtc IS NULL THEN 0 ELSE 1 END), 0)
            FROM [etl].[SessionConversations] AS sc
                /* lint: allow SB09: a look at who is at work, which shall keep nothing */
                WITH (UPDLOCK, ROWLOCK, NOWAIT, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as said above */
            WHERE sc.ConfigId = 1;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
        END CATCH;

        IF @Debug = 1
            PRINT CONCAT(N'Pass ', @passes, N': dialogs closed so far ', @recycled, N', left ', ISNULL(CONVERT(nvarchar(20), @left), N'unknown, one is busy'));

        IF @left = 0 OR SYSUTCDATETIME() >= @deadline
            RETURN 0;
        WAITFOR DELAY '00:00:00.100';
    END;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_AcknowledgeLanding]
    @reader nvarchar(128) = NULL,       /* any name that stays the same, one for each who reads */
    @upTo binary(8) = NULL,             /* its mark: it needs no row with RowVersion < @upTo again */
    @forget bit = 0,                    /* 1: this reader is gone, do not wait for it any more */
    @Help bit = 0
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* A reader of Landing says how far it has got, so that usp_PurgeLanding removes nothing it still
   needs. May go back as well. RowVersion tells which rows are new and nothing of their order within a
   batch: a reader orders by ConversationId and MessageSequence (F-365). Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_AcknowledgeLanding: a reader of Landing says how far it has got; usp_PurgeLanding removes only what every reader has acknowledged.
  @reader    name of the reader, 1 to 128 characters
  @upTo      mark: rows with RowVersion < @upTo are not needed again; at most MIN_ACTIVE_ROWVERSION()
  @forget    1: forget this reader, @upTo is not used
LandingAcknowledged has the readers, and in row usp_PurgeLanding the mark below which rows may be gone.
RowVersion says which rows are new, not their order: order a conversation by MessageSequence (F-365).
Take the mark before you read, read rows below it, then acknowledge it:
  DECLARE @mark binary(8) = MIN_ACTIVE_ROWVERSION();
  SELECT ... FROM ' + N'[etl].[Landing] WHERE RowVersion >= @from AND RowVersion < @mark ORDER BY ConversationId, MessageSequence;' + N'
  EXECUTE ' + N'[etl].[usp_AcknowledgeLanding] @reader = N''lake'', @upTo = @mark;';
        RETURN 0;
    END;

    IF ISNULL(@reader, N'') = N''
        SET @errors = @errors + N'@reader must be a name of 1 to 128 characters. ';
    IF @reader = N'usp_PurgeLanding'
        SET @errors = @errors + N'@reader must not be usp_PurgeLanding: its row says what was purged. ';
    IF @forget IS NULL
        SET @errors = @errors + N'@forget must be 0 or 1. ';
    IF @forget = 0 AND @upTo IS NULL
        SET @errors = @errors + N'@upTo must be a mark of Landing.RowVersion; allowed: binary(8), not NULL. ';
    /* Rows below such a mark may not have been committed yet, so nobody can have read them. */
    IF @forget = 0 AND @upTo > MIN_ACTIVE_ROWVERSION()
        SET @errors = @errors + N'@upTo must be at most MIN_ACTIVE_ROWVERSION(): take the mark from it. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50183, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Remember it                                                                              */
    /* ----------------------------------------------------------------------------------------- */
    IF @forget = 1
    BEGIN
        DELETE FROM [etl].[LandingAcknowledged] WHERE Reader = @reader;
        RETURN 0;
    END;

    /* One statement looks and inserts. UPDLOCK, HOLDLOCK: the place of a name that is not there is kept
       until the row is in it, so two first calls of one reader do not both insert (2627). */
    INSERT INTO [etl].[LandingAcknowledged] (Reader, UpTo)
    SELECT @reader, @upTo
    WHERE NOT EXISTS (SELECT 1
                      FROM [etl].[LandingAcknowledged] AS la
                          WITH (UPDLOCK, HOLDLOCK, ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)
                      WHERE la.Reader = @reader);
    IF @@ROWCOUNT = 0
        UPDATE la
        SET UpTo = @upTo, ChangedUtc = SYSUTCDATETIME()
        FROM [etl].[LandingAcknowledged] AS la
            WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this reader's row */
        WHERE la.Reader = @reader;

    RETURN 0;
END;
GO

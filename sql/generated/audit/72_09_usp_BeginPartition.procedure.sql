SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_BeginPartition]
    @jobId nvarchar(4000),              /* name of the job, the same when it is run again; 1 to 128 characters */
    @batchId bigint,                    /* its batch: of a stream the number Spark gives it, else 0 */
    @partitionId int,                   /* the piece of the batch, 0 or more */
    @chunk int = 0                      /* part of the piece, 0 or more; 0 where it goes out as one */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Asks whether a piece of work that may be run twice still has to be sent. Called in the transaction
   that then sends it and ends with usp_EndPartition. Returns 0 and one row: AlreadySent bit,
   MessageCount bigint, ContentHash binary(32), SentUtc datetime2(3); the last three are NULL where
   AlreadySent is 0.
   AlreadySent = 1: send nothing, call usp_EndPartition all the same, which compares.
   Locks: the ledger's row before any row R of usp_Send; a second attempt at the same piece waits here,
   holding nothing, until the first commits or is rolled back. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the look-up (F-331) */
    SET XACT_ABORT OFF;                 /* 2627 below is an answer, and must not doom the caller's work */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @attempt int = 0;
    DECLARE @found bit = 0;
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N'usp_BeginPartition must be called in the transaction that sends the messages: BEGIN TRANSACTION first.', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N'@jobId must be a name of 1 to 128 characters. ';
    IF @batchId IS NULL
        SET @errors = @errors + N'@batchId must be a bigint, not NULL. ';
    IF ISNULL(@partitionId, -1) < 0
        SET @errors = @errors + N'@partitionId must be 0 to 2147483647. ';
    IF ISNULL(@chunk, -1) < 0
        SET @errors = @errors + N'@chunk must be 0 to 2147483647. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Make the row; one that is there tells that the piece is sent. Twice at most: it can go     */
    /*    between the refusal and the look (usp_PurgeSendLedger)                                     */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        SELECT @found = 1, @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
        FROM [audit].[SendLedger] AS sl
            /* READCOMMITTEDLOCK: wait for an attempt that is sending this piece now, also in a database
               of row versions, where a plain read would not see it. One row of the clustered key. */
            WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)
        WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
        IF @found = 1
            BREAK;

        BEGIN TRY
            INSERT INTO [audit].[SendLedger] (JobId, BatchId, PartitionId, Chunk)
            VALUES (@job, @batchId, @partitionId, @chunk);
            BREAK;
        END TRY
        BEGIN CATCH
            /* 2627: another attempt has just sent it; look again. */
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @attempt >= 3
                THROW;
        END CATCH;
    END;

    IF @found = 1 AND @messages IS NULL
        THROW 50242, N'This piece was begun and not ended: usp_BeginPartition and usp_EndPartition are called once each, in one transaction.', 1;

    SELECT @found AS AlreadySent, @messages AS MessageCount, @hash AS ContentHash, @sentUtc AS SentUtc;

    RETURN 0;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER TRIGGER [etl].[Outbox_Insert]
ON [etl].[Outbox]
WITH EXECUTE AS N'etl_module'
INSTEAD OF INSERT
AS
/* Redial 0.1.0, configuration etl */
/* Sends the rows of one INSERT: all or none, in the order of Ordinal. An error rolls back the whole
   transaction of the INSERT: triggers run under XACT_ABORT ON (create-trigger-transact-sql). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* the INSERT itself is cut by it, what it inserted is not (F-331) */

    DECLARE @problems nvarchar(max) = N'';
    DECLARE @ordinal int = NULL;
    DECLARE @nulls int;
    DECLARE @duplicates int;
    DECLARE @batch [etl].[MessageBatch];

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Ordinals: every row has one, and no other row of the statement has it                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @nulls = (SELECT COUNT(*) FROM inserted AS i WHERE i.Ordinal IS NULL);
    IF @nulls > 0
        SET @problems = @problems + CONCAT(N'Ordinal must not be NULL, and is in ', @nulls, N' rows. ');

    SELECT @duplicates = COUNT(*), @ordinal = MIN(d.Ordinal)
    FROM (SELECT i.Ordinal FROM inserted AS i WHERE i.Ordinal IS NOT NULL GROUP BY i.Ordinal HAVING COUNT(*) > 1) AS d;
    IF @duplicates > 0
        SET @problems = @problems + CONCAT(N'Ordinal must be given once in a statement; ', @duplicates, N' are given more often, the first is ', @ordinal, N'. ');

    /* ----------------------------------------------------------------------------------------- */
    /* 2  One row per ordinal, so that the rest is checked too; usp_SendMessages raises it all     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
    SELECT n.Ordinal, n.MessageType, n.MessageBody, n.MessageKey, n.MessageId
    FROM (SELECT i.Ordinal, i.MessageType, i.MessageBody, i.MessageKey, i.MessageId,
                 ROW_NUMBER() OVER (PARTITION BY i.Ordinal ORDER BY i.Ordinal) AS Nth
          FROM inserted AS i
          WHERE i.Ordinal IS NOT NULL) AS n
    WHERE n.Nth = 1;

    EXECUTE [etl].[usp_SendMessages] @messages = @batch, @problems = @problems;
END;
GO

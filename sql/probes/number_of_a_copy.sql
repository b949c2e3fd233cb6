/* F-171: A transaction sends, sends again and undoes that to a savepoint, and sends. Which numbers do the
   two messages arrive with: 0 and 1, or 0 and 2?
   Settles undone_send_number = given back | lost.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_number_of_a_copy') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_number_of_a_copy;
GO
USE RedialProbe_number_of_a_copy;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000) = N'';
DECLARE @h uniqueidentifier;
DECLARE @n int = 0;
DECLARE @arrived bigint;
BEGIN TRANSACTION;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SAVE TRANSACTION here;
SEND ON CONVERSATION @h (0x02);
ROLLBACK TRANSACTION here;
SEND ON CONVERSATION @h (0x03);
COMMIT TRANSACTION;
WHILE @n < 2
BEGIN
    SET @arrived = NULL;
    WAITFOR (RECEIVE TOP (1) @arrived = message_sequence_number FROM dbo.ToQueue), TIMEOUT 10000;
    SET @observed = CONCAT(@observed, N'arrived ', @arrived, N' ');
    SET @n += 1;
END;
SELECT
    N'F-171' AS Fact,
    N'A transaction sends, sends again and undoes that to a savepoint, and sends. Which numbers do the ' +
        N'two messages arrive with: 0 and 1, or 0 and 2?' AS Question,
    N'arrived 0 arrived 1' AS Expected,
    RTRIM(@observed) AS Observed,
    CONVERT(nvarchar(400), CASE RTRIM(@observed)
        WHEN N'arrived 0 arrived 1' THEN N'undone_send_number=given back'
        WHEN N'arrived 0 arrived 2' THEN N'undone_send_number=lost' END) AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_number_of_a_copy
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_number_of_a_copy;
GO

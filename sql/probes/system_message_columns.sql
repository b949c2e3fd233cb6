/* F-141: What are queuing_order and message_sequence_number of a DialogTimer row and of an
   Error row of the broker itself?
   Settles system_message_sequence = 0 | -1; system_queuing_order = next | zero.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_system_message_columns') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_system_message_columns;
GO
USE RedialProbe_system_message_columns;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE MESSAGE TYPE [//probe/message];
CREATE CONTRACT [//probe/contract] ([//probe/message] SENT BY INITIATOR);
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @rows TABLE
(
    QueuingOrder bigint NULL,
    MessageSequence bigint NULL,
    MessageType nvarchar(256) NULL
);
DECLARE @timer bigint, @fault bigint, @lowest bigint, @distinct int;
BEGIN DIALOG CONVERSATION @h                     /* the target does not take this contract */
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to'
    ON CONTRACT [//probe/contract] WITH ENCRYPTION = OFF;
BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1;
SEND ON CONVERSATION @h MESSAGE TYPE [//probe/message] (0x01);
WAITFOR DELAY '00:00:04';
RECEIVE queuing_order, message_sequence_number, message_type_name FROM dbo.FromQueue INTO @rows;
SELECT @timer = r.MessageSequence FROM @rows AS r WHERE r.MessageType LIKE N'%/DialogTimer';
SELECT @fault = r.MessageSequence FROM @rows AS r WHERE r.MessageType LIKE N'%/Error';
SELECT @lowest = MIN(ISNULL(r.QueuingOrder, 0)), @distinct = COUNT(DISTINCT r.QueuingOrder)
FROM @rows AS r;
SET @observed = CONCAT(N'DialogTimer sequence ', @timer, N', Error sequence ', @fault,
    CASE WHEN @lowest > 0 AND @distinct = 2 THEN N'; queuing orders distinct and above zero'
         ELSE CONCAT(N'; ', @distinct, N' queuing orders, lowest ', @lowest) END);
SET @settles = CONCAT(
    CASE WHEN @timer = @fault AND @timer IN (0, -1)
         THEN CONCAT(N'system_message_sequence=', @timer, N'; ') END,
    CASE WHEN @lowest > 0 AND @distinct = 2 THEN N'system_queuing_order=next'
         WHEN @lowest = 0 THEN N'system_queuing_order=zero' END);
SELECT
    N'F-141' AS Fact,
    N'What are queuing_order and message_sequence_number of a DialogTimer row and of ' +
        N'an Error row of the broker itself?' AS Question,
    N'DialogTimer sequence 0, Error sequence 0; queuing orders distinct and above zero' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_system_message_columns
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_system_message_columns;
GO

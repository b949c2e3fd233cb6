/* F-455, F-456, F-457: END CONVERSATION and LIFETIME beside an open SEND, in two query windows.

   What the scripts one folder up ask one by one, seen at one go, with the locks the sender holds.
   Run SETUP, then WINDOW 1, and WINDOW 2 within five seconds; both are over after two minutes.
   How to read the last result of WINDOW 2, one line for each dialog:
     1, 2, 3  END, END WITH ERROR, END WITH CLEANUP of the target's side over an open SEND
              Ms >= 3000 or Error 1222: END waits (end_over_open_send = waits), or fails at once.
              Otherwise Received = 0 and Pending = 0: the message is gone, though its sender has
              committed without an error (deletes). Received = 1: it was left (leaves).
     4        LIFETIME passed while the SEND was open: Told = 2 before the commit means that both
              sides were told at once (expiry_waits_for_sender = false), 0 that they were not.
     5        SEND over an open END: the first result of WINDOW 2 says how long it took and whether
              it is in sys.transmission_queue (send_over_open_end = waits, transmits; else enqueues).
   If the first result of WINDOW 1 says that no row was in the target's queue, messages enter it at
   the commit only (F-260), and lines 1 to 3 say nothing. */

-- ================ SETUP ================
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialEndRace') IS NOT NULL
    RAISERROR (N'The database RedialEndRace exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialEndRace;
GO
USE RedialEndRace;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//race/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//race/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
CREATE TABLE dbo.Dialog (
    Number          int              NOT NULL CONSTRAINT PK_Dialog PRIMARY KEY,
    InitiatorHandle uniqueidentifier NOT NULL,
    TargetHandle    uniqueidentifier NOT NULL,
    Error           int              NULL,
    Ms              int              NULL,
    Told            int              NULL,
    Received        int              NULL);
GO
DECLARE @n int = 0, @h uniqueidentifier, @t uniqueidentifier;
WHILE @n < 5
BEGIN
    SET @n = CASE @n WHEN 3 THEN 5 ELSE @n + 1 END; -- WINDOW 1 begins dialog 4
    BEGIN DIALOG CONVERSATION @h FROM SERVICE [//race/from] TO SERVICE N'//race/to'
        WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @h (0x00);
    WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 5000;
    INSERT INTO dbo.Dialog (Number, InitiatorHandle, TargetHandle) VALUES (@n, @h, @t);
END;
GO

-- ================ WINDOW 1 ================
USE RedialEndRace;
SET NOCOUNT ON;
DECLARE @1 uniqueidentifier, @2 uniqueidentifier, @3 uniqueidentifier, @4 uniqueidentifier;
DECLARE @5 uniqueidentifier, @t uniqueidentifier;
BEGIN DIALOG CONVERSATION @4 FROM SERVICE [//race/from] TO SERVICE N'//race/to'
    WITH LIFETIME = 30, ENCRYPTION = OFF;
SEND ON CONVERSATION @4 (0x00);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 5000;
INSERT INTO dbo.Dialog (Number, InitiatorHandle, TargetHandle) VALUES (4, @4, @t);
SELECT @1 = d.InitiatorHandle FROM dbo.Dialog AS d WHERE d.Number = 1;
SELECT @2 = d.InitiatorHandle FROM dbo.Dialog AS d WHERE d.Number = 2;
SELECT @3 = d.InitiatorHandle FROM dbo.Dialog AS d WHERE d.Number = 3;
SELECT @5 = d.TargetHandle FROM dbo.Dialog AS d WHERE d.Number = 5;
BEGIN TRANSACTION;
END CONVERSATION @5;
SEND ON CONVERSATION @1 (0x01);
SEND ON CONVERSATION @2 (0x02);
SEND ON CONVERSATION @3 (0x03);
SEND ON CONVERSATION @4 (0x04);
SELECT N'WINDOW 1, uncommitted' AS Moment, COUNT(*) AS RowsInTheTargetQueue
FROM dbo.ToQueue AS q WITH (NOLOCK);
SELECT l.resource_type, l.resource_subtype, l.resource_description, l.request_mode
FROM sys.dm_tran_locks AS l
WHERE l.request_session_id = @@SPID;
WAITFOR DELAY '00:01:00';
COMMIT TRANSACTION;
GO

-- ================ WINDOW 2 ================
USE RedialEndRace;
SET NOCOUNT ON;
DECLARE @n int = 1, @h uniqueidentifier, @t uniqueidentifier, @at datetime2(3), @error int;
WAITFOR DELAY '00:00:08';

/* Dialog 5, whose END is open in WINDOW 1. */
SELECT @h = d.InitiatorHandle FROM dbo.Dialog AS d WHERE d.Number = 5;
SELECT @at = SYSUTCDATETIME(), @error = 0;
SET LOCK_TIMEOUT 3000;
BEGIN TRY
    SEND ON CONVERSATION @h (0x05);
END TRY
BEGIN CATCH
    SET @error = ERROR_NUMBER();
END CATCH;
SELECT N'SEND over an open END' AS Moment, @error AS Error,
    DATEDIFF(millisecond, @at, SYSUTCDATETIME()) AS Ms,
    (SELECT COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h) AS Pending,
    GET_TRANSMISSION_STATUS(@h) AS Status;

/* Dialogs 1 to 3: END in each of its forms, while WINDOW 1 has not committed its SEND. */
WHILE @n <= 3
BEGIN
    SELECT @t = d.TargetHandle FROM dbo.Dialog AS d WHERE d.Number = @n;
    SELECT @at = SYSUTCDATETIME(), @error = 0;
    BEGIN TRY
        IF @n = 1
            END CONVERSATION @t;
        ELSE IF @n = 2
            END CONVERSATION @t WITH ERROR = 50001 DESCRIPTION = N'race';
        ELSE
            END CONVERSATION @t WITH CLEANUP;
    END TRY
    BEGIN CATCH
        SET @error = ERROR_NUMBER();
    END CATCH;
    UPDATE d
    SET d.Error = @error, d.Ms = DATEDIFF(millisecond, @at, SYSUTCDATETIME())
    FROM dbo.Dialog AS d
    WHERE d.Number = @n;
    SET @n += 1;
END;
SET LOCK_TIMEOUT -1;

/* Dialog 4: its LIFETIME has passed, WINDOW 1 has not committed. */
WAITFOR DELAY '00:00:32';
UPDATE d
SET d.Told =
        (SELECT COUNT(*)
         FROM dbo.FromQueue AS q WITH (NOLOCK)
         WHERE q.conversation_handle = d.InitiatorHandle)
        + (SELECT COUNT(*)
           FROM dbo.ToQueue AS q WITH (NOLOCK)
           WHERE q.conversation_handle = d.TargetHandle
             AND q.message_type_name = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
FROM dbo.Dialog AS d
WHERE d.Number = 4;

/* WINDOW 1 has committed: who finds its messages? */
WAITFOR DELAY '00:00:30';
DECLARE @got TABLE (Handle uniqueidentifier, Type sysname, Body varbinary(max));
SET @n = 1;
WHILE @n > 0
BEGIN
    RECEIVE conversation_handle, message_type_name, message_body FROM dbo.ToQueue INTO @got;
    SET @n = @@ROWCOUNT;
END;
UPDATE d
SET d.Received = (SELECT COUNT(*) FROM @got AS g WHERE g.Handle = d.TargetHandle
                                                   AND g.Type = N'DEFAULT')
FROM dbo.Dialog AS d;
SELECT d.Number, d.Error, d.Ms, d.Told, d.Received,
    (SELECT COUNT(*)
     FROM sys.transmission_queue AS q
     WHERE q.conversation_handle = d.InitiatorHandle) AS Pending,
    GET_TRANSMISSION_STATUS(d.InitiatorHandle) AS Status
FROM dbo.Dialog AS d
ORDER BY d.Number;
GO

-- ================ CLEAN-UP ================
USE master;
GO
ALTER DATABASE RedialEndRace
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialEndRace;
GO

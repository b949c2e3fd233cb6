/* F-162: A transaction can only roll back (XACT_STATE -1): does sp_getapplock give its session a lock?
   Settles applock_when_doomed = granted | refused.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_applock_when_doomed') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_applock_when_doomed;
GO
USE RedialProbe_applock_when_doomed;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE TABLE dbo.ProbeTable
(
    k int NOT NULL CONSTRAINT PK_ProbeTable PRIMARY KEY CLUSTERED
);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @number int, @result int, @after int;
BEGIN TRY
    BEGIN TRANSACTION;
    INSERT INTO dbo.ProbeTable (k) VALUES (1);
    SET @number = CONVERT(int, N'no number');
    COMMIT TRANSACTION;
END TRY
BEGIN CATCH
    IF XACT_STATE() = -1
    BEGIN
        BEGIN TRY
            EXECUTE @result = sys.sp_getapplock @Resource = N'RedialProbe', @LockMode = N'Exclusive',
                @LockOwner = N'Session', @LockTimeout = 0;
            SET @observed = CONCAT(N'returned ', @result);
        END TRY
        BEGIN CATCH
            SET @observed = CONCAT(N'error ', ERROR_NUMBER());
        END CATCH;
    END;
    ROLLBACK TRANSACTION;
END CATCH;
/* Held still, after the rollback? */
SET @observed = CONCAT(@observed, N', then ', APPLOCK_MODE(N'public', N'RedialProbe', N'Session'));
SET @settles = CASE WHEN @observed LIKE N'returned [01], then Exclusive' THEN N'applock_when_doomed=granted'
                    WHEN @observed LIKE N'error %, then NoLock' THEN N'applock_when_doomed=refused' END;
IF APPLOCK_MODE(N'public', N'RedialProbe', N'Session') <> N'NoLock'
    EXECUTE sys.sp_releaseapplock @Resource = N'RedialProbe', @LockOwner = N'Session';
SELECT
    N'F-162' AS Fact,
    N'A transaction can only roll back (XACT_STATE -1): does sp_getapplock give its session a lock?' AS Question,
    N'returned 0, then Exclusive' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_applock_when_doomed
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_applock_when_doomed;
GO

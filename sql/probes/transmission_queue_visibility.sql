/* F-113: Who sees a pending row: dbo, a user who owns the service, the same user as a
   member of db_owner?
   Settles transmission_queue_shows = db_owner | all.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_transmission_queue_visibility') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_transmission_queue_visibility;
GO
USE RedialProbe_transmission_queue_visibility;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
CREATE USER ProbeUser WITHOUT LOGIN;
ALTER AUTHORIZATION ON SERVICE::[//probe/from] TO ProbeUser;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @dbo int, @owner int, @member int, @isMember int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SELECT @dbo = COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h;
EXECUTE AS USER = N'ProbeUser';
SELECT @owner = COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h;
REVERT;
ALTER ROLE db_owner ADD MEMBER ProbeUser;
EXECUTE AS USER = N'ProbeUser';
SELECT @member = COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h;
SET @isMember = IS_MEMBER(N'db_owner');
REVERT;
SET @observed = CONCAT(N'dbo ', @dbo, N', owner ', @owner, N', member ', @member,
    N' (IS_MEMBER ', @isMember, N')');
IF @dbo = 1 AND @member = 1
    SET @settles = CASE @owner WHEN 0 THEN N'transmission_queue_shows=db_owner'
                               ELSE N'transmission_queue_shows=all' END;
SELECT
    N'F-113' AS Fact,
    N'Who sees a pending row: dbo, a user who owns the service, the same user as a ' +
        N'member of db_owner?' AS Question,
    N'dbo 1, owner 0, member 1 (IS_MEMBER 1)' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_transmission_queue_visibility
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_transmission_queue_visibility;
GO

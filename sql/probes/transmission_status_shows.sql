/* F-545: Does GET_TRANSMISSION_STATUS answer a user who owns the service and is not in db_owner?
   Settles transmission_status_shows = all | db_owner.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_transmission_status_shows') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_transmission_status_shows;
GO
USE RedialProbe_transmission_status_shows;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
GO
CREATE USER ProbeUser WITHOUT LOGIN;
ALTER AUTHORIZATION ON SERVICE::[//probe/from] TO ProbeUser;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier;
DECLARE @tries int = 0;
DECLARE @dbo nvarchar(4000), @owner nvarchar(4000), @member nvarchar(4000);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
/* Until the first attempt to deliver it has failed. */
WHILE @tries < 20 AND GET_TRANSMISSION_STATUS(@h) = N''
BEGIN
    SET @tries += 1;
    WAITFOR DELAY '00:00:01';
END;
SET @dbo = GET_TRANSMISSION_STATUS(@h);
EXECUTE AS USER = N'ProbeUser';
SET @owner = GET_TRANSMISSION_STATUS(@h);
REVERT;
ALTER ROLE db_owner ADD MEMBER ProbeUser;
EXECUTE AS USER = N'ProbeUser';
SET @member = GET_TRANSMISSION_STATUS(@h);
REVERT;
SET @observed = CONCAT(N'dbo ', CASE WHEN @dbo <> N'' THEN N'told' ELSE N'nothing' END,
    N', owner ', CASE WHEN @owner <> N'' THEN N'told' ELSE N'nothing' END,
    N', member ', CASE WHEN @member <> N'' THEN N'told' ELSE N'nothing' END);
IF @dbo <> N'' AND @member <> N''
    SET @settles = CASE WHEN @owner <> N'' THEN N'transmission_status_shows=all'
                        ELSE N'transmission_status_shows=db_owner' END;
SELECT
    N'F-545' AS Fact,
    N'Does GET_TRANSMISSION_STATUS answer a user who owns the service and is not in db_owner?'
        AS Question,
    N'dbo told, owner told, member told' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_transmission_status_shows
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_transmission_status_shows;
GO

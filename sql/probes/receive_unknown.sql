/* F-266: RECEIVE with an unknown handle, and with an unknown group: an error or an empty
   set?
   Settles receive_unknown = error | empty.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_receive_unknown') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_receive_unknown;
GO
USE RedialProbe_receive_unknown;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @handle nvarchar(100) = N'empty', @group nvarchar(100) = N'empty';
SET @h = NEWID();
BEGIN TRY
    RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue WHERE conversation_handle = @h;
END TRY
BEGIN CATCH
    SET @handle = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
BEGIN TRY
    RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue WHERE conversation_group_id = @h;
END TRY
BEGIN CATCH
    SET @group = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @observed = CONCAT(N'handle: ', @handle, N'; group: ', @group);
SET @settles = CASE
    WHEN @handle LIKE N'error%' AND @group LIKE N'error%' THEN N'receive_unknown=error'
    WHEN @handle = N'empty' AND @group = N'empty' THEN N'receive_unknown=empty' END;
SELECT
    N'F-266' AS Fact,
    N'RECEIVE with an unknown handle, and with an unknown group: an error or an empty ' +
        N'set?' AS Question,
    N'handle: error 8426; group: error 8436' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_receive_unknown
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_receive_unknown;
GO

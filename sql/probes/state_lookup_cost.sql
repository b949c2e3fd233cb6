/* F-126: What does a look-up of sys.conversation_endpoints by handle cost among 5,000
   endpoints? usp_Send makes one per message.
   Settles no switch.
   Makes a database of its own and drops it; touches nothing else. The embedded broker
   counts no reads. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_state_lookup_cost') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_state_lookup_cost;
GO
USE RedialProbe_state_lookup_cost;
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
DECLARE @n int = 0, @before bigint, @after bigint, @state char(2);
DECLARE @reads nvarchar(200) = N'SELECT @r = r.logical_reads
    FROM sys.dm_exec_requests AS r WHERE r.session_id = @@SPID;';
WHILE @n < 5000
BEGIN
    SET @n += 1;
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
END;
BEGIN TRY
    EXECUTE sys.sp_executesql @reads, N'@r bigint OUTPUT', @r = @before OUTPUT;
    SET @n = 0;
    WHILE @n < 100
    BEGIN
        SET @n += 1;
        SELECT @state = e.state
        FROM sys.conversation_endpoints AS e WITH (NOLOCK)
        WHERE e.conversation_handle = @h;
    END;
    EXECUTE sys.sp_executesql @reads, N'@r bigint OUTPUT', @r = @after OUTPUT;
    SET @observed = CASE
        WHEN @after - @before < 5000 THEN N'100 look-ups below 5,000 reads: a seek'
        ELSE CONCAT(N'100 look-ups: ', @after - @before, N' reads') END;
END TRY
BEGIN CATCH
    SET @observed = N'reads are not counted here';
END CATCH;
SELECT
    N'F-126' AS Fact,
    N'What does a look-up of sys.conversation_endpoints by handle cost among 5,000 ' +
        N'endpoints? usp_Send makes one per message.' AS Question,
    N'100 look-ups below 5,000 reads: a seek' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_state_lookup_cost
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_state_lookup_cost;
GO

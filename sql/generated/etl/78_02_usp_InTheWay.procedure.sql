SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_InTheWay]
    @begunBefore datetime = NULL,       /* only transactions that began before this, the server's local time; NULL: all */
    @who nvarchar(1500) OUTPUT          /* N'': nobody; else at most five sessions */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Names the sessions whose open transactions hold rows of our tables or messages of our queues: who a
   drain, a change of choices or an uninstall waits for. Whoever locks a row also has a lock on its table,
   so this looks for locks on our own tables and queues: what else is at work in the database is not
   counted. Readers that activation started come and go and are not named. Reads no table, waits for nobody.
   Asked as the caller, since a user of one database is nobody to the server (F-240).
   Returns 0, or 1: the caller has no VIEW SERVER STATE, and who it is cannot be seen. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @ours TABLE (ObjectId bigint NOT NULL PRIMARY KEY);
    DECLARE @holders TABLE (SessionId int NOT NULL PRIMARY KEY);
    DECLARE @database int = DB_ID();
    DECLARE @session int = 0;
    DECLARE @named int = 0;
    DECLARE @text nvarchar(500);

    INSERT INTO @ours (ObjectId)
    SELECT o.object_id
    FROM sys.objects AS o
    WHERE o.object_id IN (OBJECT_ID(N'[etl].[SessionConversations]', N'U'), OBJECT_ID(N'[etl].[Gate]', N'U'), OBJECT_ID(N'[etl].[Everlasting]', N'U'), OBJECT_ID(N'[etl].[ConversationLog]', N'U'), OBJECT_ID(N'[etl].[SentMessage]', N'U'), OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[etl].[TargetQueue]', N'SQ'))
    UNION
    SELECT it.object_id                 /* where a queue keeps its messages (F-170) */
    FROM sys.internal_tables AS it
    WHERE it.parent_object_id IN (OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[etl].[TargetQueue]', N'SQ'));

    SET @who = N'';
    EXECUTE AS CALLER;
    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0) = 0
       AND ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE'), 0) = 0    /* from 2022; NULL before */
    BEGIN
        REVERT;
        SET @who = N'sessions that cannot be named to you without VIEW SERVER STATE';
        RETURN 1;
    END;

    INSERT INTO @holders (SessionId)
    SELECT DISTINCT tl.request_session_id
    FROM sys.dm_tran_locks AS tl
    WHERE tl.resource_database_id = @database
      AND tl.resource_type = N'OBJECT'
      AND tl.request_status = N'GRANT'
      AND tl.request_session_id <> @@SPID
      AND EXISTS (SELECT 1 FROM @ours AS o WHERE o.ObjectId = tl.resource_associated_entity_id)
      AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id);

    WHILE @named < 5
    BEGIN
        SET @text = NULL;
        SELECT TOP (1) @session = h.SessionId,
            @text = LEFT(CONCAT(N'session ', h.SessionId, N' (login ', es.login_name, N', host ', ISNULL(es.host_name, N'unknown'),
                N', program ', ISNULL(es.program_name, N'unknown'), N', transaction open since ', CONVERT(nvarchar(19), b.BegunAt, 120), N' server time)'), 300)
        FROM @holders AS h
        INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
        CROSS APPLY (SELECT MIN(at.transaction_begin_time) AS BegunAt
                     FROM sys.dm_tran_session_transactions AS st
                     INNER JOIN sys.dm_tran_active_transactions AS at ON at.transaction_id = st.transaction_id
                     WHERE st.session_id = h.SessionId) AS b
        WHERE h.SessionId > @session
          AND b.BegunAt < ISNULL(@begunBefore, '99991231')
        ORDER BY h.SessionId;
        IF @text IS NULL
            BREAK;
        SET @who = LEFT(CONCAT(@who, CASE WHEN @who <> N'' THEN N'; ' END, @text), 1500);
        SET @named = @named + 1;
    END;

    REVERT;
    RETURN 0;
END;
GO

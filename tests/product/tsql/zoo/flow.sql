-- One batch per line; behind the arrow the classes of its statements. Area: flow.
BEGIN TRAN SELECT 1 COMMIT --> BeginTransaction SelectStatement Commit
BEGIN TRAN x WITH MARK 'y' --> BeginTransaction
BEGIN DISTRIBUTED TRAN --> BeginTransaction
BEGIN SEND ON CONVERSATION @h; END --> Block
CHECKPOINT --> Checkpoint
CLOSE @c --> CloseCursor
COMMIT WORK --> Commit
COMMIT TRAN WITH (DELAYED_DURABILITY = ON) --> Commit
DBCC CHECKDB ('x') WITH NO_INFOMSGS --> Dbcc
DBCC FREEPROCCACHE --> Dbcc
DBCC TRACEON (1224, -1) --> Dbcc
DEALLOCATE GLOBAL c --> DeallocateCursor
DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT 1 FOR READ ONLY --> DeclareCursor
DECLARE @t AS TABLE (h UNIQUEIDENTIFIER PRIMARY KEY, b VARBINARY(MAX) NULL) --> DeclareTableVariable
DECLARE @t TABLE (h UNIQUEIDENTIFIER, b VARBINARY(MAX)); --> DeclareTableVariable
DECLARE @h UNIQUEIDENTIFIER, @n INT = 1, @c CURSOR, @tt dbo.MyType --> DeclareVariable
DECLARE @h UNIQUEIDENTIFIER, @h2 UNIQUEIDENTIFIER, @cg UNIQUEIDENTIFIER, @b VARBINARY(MAX), @mt SYSNAME, @s INT; --> DeclareVariable
FETCH ABSOLUTE -1 FROM c INTO @a --> FetchCursor
FETCH NEXT FROM @c INTO @a, @b --> FetchCursor
FETCH c --> FetchCursor
GOTO done; done: --> Goto Label
IF @@TRANCOUNT > 0 COMMIT TRAN --> If
IF @n = 1 SEND ON CONVERSATION @h ELSE RECEIVE * FROM q --> If
IF EXISTS (SELECT 1) AND NOT EXISTS (SELECT 2) PRINT 'a'; ELSE PRINT 'b' --> If
IF UPDATE(a) PRINT 'x' --> If
KILL 51 WITH STATUSONLY --> Kill
done: SEND ON CONVERSATION @h --> Label Send
OPEN GLOBAL c --> OpenCursor
PRINT N'a' + @b --> Print
RAISERROR (50001, -1, -1, @a, N'b') WITH LOG --> RaiseError
RECONFIGURE WITH OVERRIDE --> Reconfigure
RETURN --> Return
REVERT WITH COOKIE = @c --> Revert
ROLLBACK TRAN @x --> Rollback
SAVE TRAN x --> SaveTransaction
SET IDENTITY_INSERT dbo.t ON --> SetIdentityInsert
SET TRANSACTION ISOLATION LEVEL READ COMMITTED --> SetIsolationLevel
SET @x.modify('delete /a') --> SetMethod
SET STATISTICS IO, TIME ON --> SetOption
SET QUOTED_IDENTIFIER ON --> SetOption
SET DATEFORMAT dmy --> SetValue
SET FIPS_FLAGGER OFF --> SetValue
SET TEXTSIZE 2147483647 --> SetValue
SET ROWCOUNT 0 --> SetValue
SET LOCK_TIMEOUT -1 --> SetValue
SET DEADLOCK_PRIORITY LOW --> SetValue
SET DEADLOCK_PRIORITY -5 --> SetValue
SET CONTEXT_INFO 0x01 --> SetValue
SET @h = NEWID() --> SetVariable
SET @n += 1 --> SetVariable
SET @c = CURSOR LOCAL FOR SELECT 1 --> SetVariable
THROW 50001, N'text', 1 --> Throw
BEGIN TRY RECEIVE * FROM q END TRY BEGIN CATCH THROW END CATCH --> TryCatch
USE [db] --> Use
WAITFOR DELAY '00:00:01'; --> WaitForDelay
WAITFOR (RECEIVE TOP (1) @h = conversation_handle FROM q), TIMEOUT -1 --> WaitForStatement
WAITFOR (RECEIVE * FROM q); --> WaitForStatement
WAITFOR (RECEIVE TOP (1) @h = conversation_handle FROM q), TIMEOUT @s; --> WaitForStatement
WAITFOR (RECEIVE TOP (1) @h = conversation_handle FROM q), TIMEOUT -1; --> WaitForStatement
WAITFOR (GET CONVERSATION GROUP @cg FROM dbo.q), TIMEOUT 500; --> WaitForStatement
WAITFOR TIME @mt; --> WaitForTime
WHILE @n < 3 SET @n += 1 --> While
WHILE 1 = 1 BEGIN BREAK; CONTINUE; END --> While

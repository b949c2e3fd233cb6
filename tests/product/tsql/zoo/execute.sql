-- One batch per line; behind the arrow the classes of its statements. Area: execute.
EXECUTE AS USER = 'u' WITH NO REVERT --> ExecuteAs
EXECUTE AS LOGIN = N'l' WITH COOKIE INTO @c --> ExecuteAs
EXECUTE AS CALLER --> ExecuteAs
EXEC sp_executesql N'SELECT @a', N'@a INT', @a = 1 --> ExecuteProcedure
EXEC @rc = dbo.p @a, @b = @c OUTPUT, @d = DEFAULT WITH RECOMPILE --> ExecuteProcedure
EXEC @proc --> ExecuteProcedure
sp_help 'dbo.t' --> ExecuteProcedure
EXEC dbo.p 0x01, $1.50, N'a', 'b', 1.5, -1, NULL, bare, [bracketed], @@SPID --> ExecuteProcedure
EXEC @r = dbo.p @a = 1, @b = DEFAULT, @c = @d OUT --> ExecuteProcedure
EXEC p @a = -1, @b = dbo --> ExecuteProcedure
EXEC sp_sproc_columns @procedure_name=usp_Send , @ODBCVer=3 --> ExecuteProcedure
sp_datatype_info_100 12,3 --> ExecuteProcedure
EXEC p WITH RESULT SETS ((a int NOT NULL), (b nvarchar(10))) --> ExecuteProcedure
EXEC p;1 5 --> ExecuteProcedure
EXEC (N'SELECT ' + @x) --> ExecuteString
EXECUTE ('x') AS USER = 'u' AT srv --> ExecuteString
EXEC ('SELECT ' + @@SERVERNAME) --> ExecuteString

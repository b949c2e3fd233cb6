-- One batch per line; behind the arrow the classes of its statements. Area: dml.
DELETE TOP (@n) t OUTPUT deleted.* INTO @o WHERE a = 1 --> Delete
DELETE t WHERE CURRENT OF GLOBAL c --> Delete
DELETE FROM t WITH (TABLOCK) FROM t JOIN s ON 1=1 --> Delete
;WITH a AS (SELECT 1 x) DELETE FROM a --> Delete
INSERT dbo.t (a, b) OUTPUT inserted.a INTO @o (a) VALUES (1, DEFAULT), (2, @x) --> Insert
INSERT INTO t SELECT a FROM (DELETE TOP (5) FROM q OUTPUT deleted.a) AS d --> Insert
INSERT TOP (5) INTO t WITH (TABLOCK) (a) SELECT 1 --> Insert
INSERT @t EXEC sp_executesql N'SELECT 1' --> Insert
INSERT INTO t (a) (SELECT 1) --> Insert
INSERT INTO t (a) VALUES (1), (DEFAULT) OPTION (RECOMPILE) --> Insert
INSERT BULK dbo.t ([a] int, [b] nvarchar(10) COLLATE Latin1_General_CI_AS) WITH (TABLOCK, CHECK_CONSTRAINTS) --> InsertBulk
MERGE dbo.t AS t USING (SELECT 1 AS a) AS s ON t.a = s.a WHEN MATCHED AND t.b = 1 THEN UPDATE SET b = 2 WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action, inserted.a; --> Merge
TRUNCATE TABLE dbo.t --> TruncateTable
UPDATE t SET a = b.c, @v = d = e FROM t INNER JOIN b ON b.k = t.k WHERE t.x = 1 --> Update
UPDATE TOP (1) q WITH (READPAST, UPDLOCK) SET n = n - 1 OUTPUT deleted.n, inserted.n --> Update
UPDATE t SET x.modify('insert <a/> into (/b)[1]'), c.WRITE(N'a', 0, 1), d = DEFAULT --> Update
UPDATE t SET @a = b = 1, c += 2, d = DEFAULT FROM t WITH (NOLOCK) WHERE CURRENT OF c --> Update
UPDATE t WITH (ROWLOCK) SET a = 1 --> Update

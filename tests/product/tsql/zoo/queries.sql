-- One batch per line; behind the arrow the classes of its statements. Area: queries.
SELECT @a = 1, @b += 2 --> SelectStatement
SELECT a = 1, 'b' = 2, c AS [d], e 'f' FROM t --> SelectStatement
SELECT 1 a, 2 AS b UNION ALL SELECT 3, 4 INTERSECT SELECT 5, 6 ORDER BY a DESC, b --> SelectStatement
SELECT DISTINCT TOP (10) PERCENT WITH TIES a FROM t ORDER BY a --> SelectStatement
SELECT * INTO #x FROM t --> SelectStatement
SELECT a FROM t WHERE a LIKE N'%x' ESCAPE '!' AND b NOT LIKE 'y' OR NOT c BETWEEN 1 AND 2 --> SelectStatement
SELECT a FROM t WHERE a IN (1, 2) AND b NOT IN (SELECT c FROM u) AND d IS NOT NULL --> SelectStatement
SELECT a FROM t WHERE a >= ALL (SELECT 1) OR b !< ANY (SELECT 2) OR c <> SOME (SELECT 3) --> SelectStatement
SELECT CASE @a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN a = 1 THEN 2 END FROM t --> SelectStatement
SELECT CONVERT(VARCHAR(30), GETDATE(), 126), PARSE('1' AS INT USING 'en-US') --> SelectStatement
SELECT DATEADD(SECOND, -1, GETDATE()), DATEDIFF(ms, @a, @b), COALESCE(@a, 1), NULLIF(1, 2), LEFT('a', 1) --> SelectStatement
SELECT CAST(message_body AS XML).value('(/a/text())[1]', 'nvarchar(max)') FROM q --> SelectStatement
SELECT x.query('declare namespace n="u"; /n:a') FROM t --> SelectStatement
SELECT -1, +2, ~3, 1 + 2 * 3 % 4 - 5 & 6 | 7 ^ 8 --> SelectStatement
SELECT 2147483648, 1.50, 1E10, $5, 0xAF, N'é', NULL --> SelectStatement
SELECT * FROM sys.conversation_endpoints AS ce WITH (NOLOCK, INDEX (1)) WHERE ce.state = 'CO' --> SelectStatement
SELECT * FROM master..spt_values --> SelectStatement
SELECT a, b FROM t FOR XML PATH('row'), ROOT('rows'), TYPE, ELEMENTS XSINIL --> SelectStatement
SELECT a FROM t FOR XML RAW, BINARY BASE64 --> SelectStatement
SELECT a FROM t FOR XML AUTO, XMLSCHEMA('u') --> SelectStatement
SELECT a FROM t FOR JSON PATH, ROOT('x'), INCLUDE_NULL_VALUES --> SelectStatement
SELECT JSON_OBJECT('a': 1, 'b': NULL ABSENT ON NULL), JSON_OBJECT(), JSON_ARRAY(1, 'x', NULL NULL ON NULL) --> SelectStatement
SELECT * FROM STRING_SPLIT('a b', ' ', 1) AS s CROSS JOIN GENERATE_SERIES(1, 5, 2) AS g --> SelectStatement
SELECT 1 OPTION (RECOMPILE, MAXDOP 1, OPTIMIZE FOR (@a = 1, @b UNKNOWN), USE HINT ('X')) --> SelectStatement
SELECT a, GROUPING(a) FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP (c, d), ()) HAVING COUNT(DISTINCT a) > 1 --> SelectStatement
SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC), LAG(a, 1) OVER (ORDER BY b) FROM t --> SelectStatement
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (n, c) --> SelectStatement
SELECT * FROM (t1 INNER JOIN t2 ON t1.a = t2.a) CROSS JOIN t3 --> SelectStatement
SELECT [a]]b] FROM [t] --> SelectStatement
SELECT @@ROWCOUNT, @@SPID --> SelectStatement
SELECT {ts '2020-01-01 00:00:00'} --> SelectStatement
SELECT 1 WHERE ((a) = 1) AND (((b + 1)) > (2)) AND ((c = 1 OR d = 2)) --> SelectStatement
SELECT 1 AS a /* nested /* comment */ still */ -- end --> SelectStatement
SELECT "quoted" FROM "t" --> SelectStatement
SELECT a FROM t WHERE a = (SELECT MAX(b) FROM u) --> SelectStatement
SELECT a FROM t ORDER BY (SELECT NULL) OFFSET @a ROWS --> SelectStatement
SELECT CURRENT_TIMESTAMP, USER, SYSTEM_USER, NEXT VALUE FOR dbo.s --> SelectStatement
SELECT NEXT, SEND, RECEIVE, MOVE, GET, THROW, CONVERSATION, DIALOG, QUEUE FROM t --> SelectStatement
SELECT * FROM t (NOLOCK) a, u b (UPDLOCK) --> SelectStatement
SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x --> SelectStatement
SELECT * FROM OPENJSON(@j, '$.a') WITH (a INT '$.x', b NVARCHAR(MAX) AS JSON) AS x --> SelectStatement
SELECT n.c.value('@a', 'int') FROM @x.nodes('/r/a') AS n(c) --> SelectStatement
SELECT n.c.query('.') FROM t CROSS APPLY t.x.nodes('/r/a') AS n(c) --> SelectStatement
SELECT * FROM dbo.f(1, DEFAULT) AS x --> SelectStatement
SELECT * FROM t WHERE a < = 1 AND b > = 2 AND c < > 3 --> SelectStatement
SELECT COUNT(*) OVER (), COUNT_BIG(DISTINCT a), SUM(ALL b) FROM t --> SelectStatement
SELECT IIF(a = 1 OR b = 2, 3, 4), TRY_CONVERT(INT, a), TRY_CAST(b AS DATE) FROM t --> SelectStatement
SELECT 1 WHERE a IS DISTINCT FROM b AND c IS NOT DISTINCT FROM NULL --> SelectStatement
SELECT TOP 5 WITH TIES * FROM t ORDER BY a --> SelectStatement
SELECT TOP 1.5 * FROM t --> SelectStatement
SELECT TOP (5) PERCENT * FROM t --> SelectStatement
SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP --> SelectStatement
SELECT 1 UNION ALL (SELECT 2 EXCEPT SELECT 3) --> SelectStatement
WITH a AS (SELECT 1 x), b (y) AS (SELECT 2) SELECT * FROM a, b --> SelectStatement
WITH XMLNAMESPACES ('u' AS n, DEFAULT 'd') SELECT 1 --> SelectStatement
WITH XMLNAMESPACES ('u' AS n), a AS (SELECT 1 x) SELECT * FROM a --> SelectStatement
SELECT a FROM t PIVOT (SUM(b) FOR c IN ([x], [y])) AS p --> SelectStatement
SELECT a FROM t UNPIVOT (b FOR c IN (x, y)) AS p --> SelectStatement
SELECT STRING_AGG(a, ',') WITHIN GROUP (ORDER BY a) FROM t --> SelectStatement
SELECT SUM(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t --> SelectStatement
SELECT TRIM('x' FROM a) FROM t --> SelectStatement
SELECT a AT TIME ZONE 'UTC' FROM t --> SelectStatement
SELECT * FROM a LEFT OUTER HASH JOIN b ON 1=1 FULL JOIN c ON 2=2 CROSS APPLY f(1) x OUTER APPLY (SELECT 1 y) z --> SelectStatement
SELECT *, a.* FROM t a --> SelectStatement
SELECT GET_TRANSMISSION_STATUS(@h); --> SelectStatement
SELECT * FROM ..t a, .db..u --> SelectStatement
SELECT * FROM {oj a LEFT JOIN b ON a.x = b.x} --> SelectStatement
SELECT£1.5, ￥2, ៛3 --> SelectStatement
SELECT SUM(a) OVER w, RANK() OVER (w ORDER BY b) FROM t WINDOW w AS (PARTITION BY c) ORDER BY 1 --> SelectStatement
SELECT FIRST_VALUE(a) IGNORE NULLS OVER (ORDER BY b) FROM t --> SelectStatement
SELECT IDENTITY(int, 1, 1) AS id INTO #t FROM u --> SelectStatement
SELECT a FROM t WITH (FORCESEEK (ix (a, b))) --> SelectStatement

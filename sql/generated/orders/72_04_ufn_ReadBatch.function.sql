SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [orders].[ufn_ReadBatch](@json nvarchar(max))
RETURNS table
AS
/* Redial 0.1.0, configuration orders */
/* The elements of @json, a JSON array of messages (the caller has checked that it is one), a row each,
   with what is wrong with one in Problem. Made so that no value can raise an error: OPENJSON without a schema tells the type of every value, the
   rest are TRY_CONVERT, and base64 is decoded only where it is base64 (F-330).
   An element: {"ordinal": 1, "type": "...", "body": "base64", "key": "...", "id": "uuid"}; ordinal and
   type are required, null counts as not given. Names are case-sensitive, as JSON's are; a name that is
   none of the five is a problem, since a misspelt body would be sent as an empty one. */
RETURN
(
    SELECT
        b.body AS MessageBody,
        CONVERT(int, e.[key]) AS Position,
        TRY_CONVERT(int, p.Ordinal) AS Ordinal,
        CONVERT(nvarchar(256), p.MessageType) AS MessageType,
        CONVERT(nvarchar(4000), p.MessageKey) AS MessageKey,
        TRY_CONVERT(uniqueidentifier, p.MessageId) AS MessageId,
        CASE
            WHEN e.[type] <> 5 THEN N'the element must be an object'
            WHEN p.Strange > 0 THEN N'has a property that is none of: ordinal, type, body, key, id'
            WHEN p.Most > 1 THEN N'has a property twice'
            WHEN p.OrdinalKind <= 0 THEN N'ordinal is missing'
            WHEN p.OrdinalKind <> 2 OR TRY_CONVERT(int, p.Ordinal) IS NULL
                THEN N'ordinal must be a whole number from -2147483648 to 2147483647'
            WHEN p.NoText > 0 THEN N'type, body, key and id must be strings or null'
            WHEN p.BodyIsBase64 = 0 THEN N'body must be base64 (RFC 4648, section 4), padded and without line breaks'
            WHEN p.MessageId IS NOT NULL AND (DATALENGTH(p.MessageId) <> 72 OR TRY_CONVERT(uniqueidentifier, p.MessageId) IS NULL)
                THEN N'id must be a uuid of 36 characters'
        END AS Problem
    FROM OPENJSON(@json) AS e
    CROSS APPLY
    (
        SELECT NULLIF(r.Ordinal, N'') AS Ordinal, r.OrdinalKind, STUFF(NULLIF(r.MessageType, N''), 1, 1, N'') AS MessageType,
            STUFF(NULLIF(r.MessageKey, N''), 1, 1, N'') AS MessageKey, STUFF(NULLIF(r.MessageId, N''), 1, 1, N'') AS MessageId,
            r.Strange, r.Most, r.NoText,
            CASE WHEN r.Body LIKE N'%[^A-Za-z0-9+/=]%' COLLATE Latin1_General_BIN2 THEN 0
                 WHEN DATALENGTH(r.Body) % 8 <> 0 THEN 0
                 WHEN CHARINDEX(N'=', r.Body) = 0 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 - 1 AND RIGHT(r.Body, 1) = N'=' THEN 1
                 ELSE 0 END AS BodyIsBase64
        FROM
        (
            SELECT
                MAX(CASE WHEN v.[key] = N'ordinal' AND v.[type] <> 0 THEN v.[value] ELSE N'' END) AS Ordinal,
                MAX(CASE v.[key] WHEN N'ordinal' THEN v.[type] ELSE -1 END) AS OrdinalKind,
                MAX(CASE WHEN v.[key] = N'body' AND v.[type] <> 0 THEN v.[value] ELSE N'' END) AS Body,
                /* A mark before what is given: a NULL in an aggregate warns every caller (8153). */
                MAX(CASE WHEN v.[key] = N'type' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageType,
                MAX(CASE WHEN v.[key] = N'key' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageKey,
                MAX(CASE WHEN v.[key] = N'id' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageId,
                SUM(CASE WHEN v.[key] IN (N'ordinal', N'type', N'body', N'key', N'id') THEN 0 ELSE 1 END) AS Strange,
                COUNT(*) - COUNT(DISTINCT v.[key]) + 1 AS Most,
                SUM(CASE WHEN v.[key] <> N'ordinal' AND v.[type] NOT IN (0, 1) THEN 1 ELSE 0 END) AS NoText
            /* A CASE as the argument: OPENJSON of anything but an object or an array raises 13609. */
            FROM OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END) AS v
        ) AS r
    ) AS p
    CROSS APPLY (SELECT CASE WHEN e.[type] = 5 AND p.NoText = 0 AND p.BodyIsBase64 = 1 THEN e.[value] ELSE N'{}' END AS [Element]) AS s
    OUTER APPLY OPENJSON (s.[Element]) WITH (body varbinary(max) '$.body') AS b
);
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [orders].[ufn_ReadEnvelope](
    @body varbinary(max)
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration orders */
/* The header usp_Send puts before a body, and the body: always one row. Bytes, numbers big-endian:
     1-4  the mark 'RDL1'        5-6  length of the header     7-22 message id, zeros for none
    23-30 sequence in the key   31-38 milliseconds since 1970, UTC
    39-46 four lengths in bytes: key, login, program, host; then these four in UTF-16LE.
   Nothing here can raise an error, whatever the bytes are: a body without a whole header comes back as it
   is, with NULL in every other column. */
RETURN
(
    SELECT
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(uniqueidentifier, CONVERT(binary(16), SUBSTRING(@body, 7, 16))),
            CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')) END AS MessageId,
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(bigint, SUBSTRING(@body, 23, 8)), 0) END AS KeySequence,
        CASE WHEN h.IsWhole = 1 AND n.Sent BETWEEN 0 AND 253402300799999    /* the last moment a datetime2 has */
            THEN DATEADD(millisecond, CONVERT(int, n.Sent % 86400000),
                DATEADD(day, CONVERT(int, n.Sent / 86400000), CONVERT(datetime2(3), '1970-01-01'))) END AS SentUtc,
        CASE WHEN h.IsWhole = 1 AND n.KeyBytes > 0
            THEN CONVERT(nvarchar(200), SUBSTRING(@body, 47, n.KeyBytes)) END AS ConversationKey,
        CASE WHEN h.IsWhole = 1 AND n.LoginBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes, n.LoginBytes)) END AS SenderLogin,
        CASE WHEN h.IsWhole = 1 AND n.AppBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes, n.AppBytes)) END AS SenderApp,
        CASE WHEN h.IsWhole = 1 AND n.HostBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes + n.AppBytes, n.HostBytes)) END AS SenderHost,
        CASE WHEN ISNULL(h.IsWhole, 0) = 0 THEN @body
            /* By its length: a comparison with 0x takes a body of zero bytes for an empty one. */
            WHEN DATALENGTH(@body) > n.HeaderBytes
            THEN SUBSTRING(@body, n.HeaderBytes + 1, DATALENGTH(@body) - n.HeaderBytes) END AS Body
    FROM
    (
        SELECT
            CONVERT(int, SUBSTRING(@body, 5, 2)) AS HeaderBytes,
            CONVERT(bigint, SUBSTRING(@body, 31, 8)) AS Sent,
            CONVERT(int, SUBSTRING(@body, 39, 2)) AS KeyBytes,
            CONVERT(int, SUBSTRING(@body, 41, 2)) AS LoginBytes,
            CONVERT(int, SUBSTRING(@body, 43, 2)) AS AppBytes,
            CONVERT(int, SUBSTRING(@body, 45, 2)) AS HostBytes
    ) AS n
    CROSS APPLY
    (
        SELECT CASE WHEN SUBSTRING(@body, 1, 4) = 0x52444C31
                     AND n.HeaderBytes = 46 + n.KeyBytes + n.LoginBytes + n.AppBytes + n.HostBytes
                     AND DATALENGTH(@body) >= n.HeaderBytes
                THEN 1 ELSE 0 END AS IsWhole
    ) AS h
);
GO

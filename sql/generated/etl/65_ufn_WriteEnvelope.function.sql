SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_WriteEnvelope](
    @messageId uniqueidentifier,        /* NULL: none */
    @key nvarchar(200),                 /* NULL: none */
    @keySequence bigint,                /* NULL: none; numbers begin at 1 */
    @body varbinary(max)                /* NULL and empty are carried alike (F-107) */
)
RETURNS varbinary(max)
AS
/* Redial 0.1.0, configuration etl */
/* A header of ours before the body (F-146). Bytes, all numbers big-endian:
     1-4  the mark 'RDL1'        5-6  length of the header     7-22 message id, zeros for none
    23-30 sequence in the key   31-38 milliseconds since 1970, UTC
    39-46 four lengths in bytes: key, login, program, host; then these four in UTF-16LE. */
BEGIN
    DECLARE @keyBytes varbinary(400) = ISNULL(CONVERT(varbinary(400), @key), 0x);
    DECLARE @login varbinary(256) = 0x;
    DECLARE @app varbinary(256) = 0x;
    DECLARE @host varbinary(256) = 0x;

    RETURN CONVERT(varbinary(max), 0x52444C31)
        + CONVERT(binary(2), 46 + DATALENGTH(@keyBytes) + DATALENGTH(@login) + DATALENGTH(@app) + DATALENGTH(@host))
        + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')))
        + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
        + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '1970-01-01'), SYSUTCDATETIME()))
        + CONVERT(binary(2), DATALENGTH(@keyBytes))
        + CONVERT(binary(2), DATALENGTH(@login))
        + CONVERT(binary(2), DATALENGTH(@app))
        + CONVERT(binary(2), DATALENGTH(@host))
        + @keyBytes + @login + @app + @host + ISNULL(@body, 0x);
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_ReadErrorBody]
    @messageBody varbinary(max),
    @code int OUTPUT,                   /* NULL when the body cannot be read */
    @description nvarchar(3000) OUTPUT
AS
/* Redial 0.1.0, configuration logging */
/* Code and description of an Error message. Never casts: a malformed body must not doom the
   transaction that received it (F-115), so every conversion is a TRY_ one. */
BEGIN
    SET NOCOUNT ON;
    /* Methods of xml want these (1934). The session of a reader may have the database's defaults. */
    SET ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;

    DECLARE @body xml = TRY_CONVERT(xml, @messageBody);

    WITH XMLNAMESPACES ('http://schemas.microsoft.com/SQL/ServiceBroker/Error' AS ssb)
    SELECT
        @code = TRY_CONVERT(int, @body.value('(/ssb:Error/ssb:Code)[1]', 'nvarchar(20)')),
        @description = @body.value('(/ssb:Error/ssb:Description)[1]', 'nvarchar(3000)');
END;
GO

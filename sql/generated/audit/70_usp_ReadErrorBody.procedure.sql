SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ReadErrorBody]
    @messageBody varbinary(max),
    @code int OUTPUT,                   /* NULL when the body cannot be read */
    @description nvarchar(3000) OUTPUT  /* the body itself then, as far as there is room */
AS
/* Redial 0.1.0, configuration audit */
/* Code and description of an Error message. Only TRY_ conversions: a malformed body dooms no RECEIVE. A
   description may hold what XML may not (0x01, half a surrogate pair): then the body is read as text. */
BEGIN
    SET NOCOUNT ON;
    /* Methods of xml want these (1934). */
    SET ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;

    DECLARE @body xml = TRY_CONVERT(xml, @messageBody),
        @text nvarchar(max) = CONVERT(nvarchar(max), @messageBody), @number nvarchar(20), @from int,
        @to int;

    WITH XMLNAMESPACES ('http://schemas.microsoft.com/SQL/ServiceBroker/Error' AS ssb)
    SELECT
        @number = @body.value('(/ssb:Error/ssb:Code)[1]', 'nvarchar(20)'),
        @description = @body.value('(/ssb:Error/ssb:Description)[1]', 'nvarchar(3000)');

    IF @body IS NULL
    BEGIN
        SELECT @from = CHARINDEX(N'<Code>', @text) + 6, @to = CHARINDEX(N'</Code>', @text);
        IF @from > 6 AND @to > @from
            SET @number = SUBSTRING(@text, @from, @to - @from);
        SELECT @from = CHARINDEX(N'<Description>', @text) + 13, @to = CHARINDEX(N'</Description>', @text);
        IF @from > 13 AND @to > @from
            SET @description = REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(SUBSTRING(@text, @from, @to - @from),
                N'&lt;', N'<'), N'&gt;', N'>'), N'&quot;', N'"'), N'&apos;', N''''), N'&amp;', N'&');
    END;

    /* With a digit: nothing would be 0, no error. */
    SET @code = CASE WHEN @number LIKE N'%[0-9]%' THEN TRY_CONVERT(int, @number) END;
    IF @code IS NULL
        SET @description = LEFT(CONCAT(N'An Error message without a code that can be read. ', @description, N' Its body: ',
            ISNULL(CONVERT(nvarchar(max), SUBSTRING(@messageBody, 1, 1400), 1), N'none')), 3000);
END;
GO

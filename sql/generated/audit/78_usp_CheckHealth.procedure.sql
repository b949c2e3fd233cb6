SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_CheckHealth]
    @failAt tinyint = 10,               /* 1 to 199: fail for this priority number or a lower one */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Result set: the findings it fails for and those named 'not looked at', with the columns of usp_Health.
   Returns 0, or raises 50290, which names the first five. Prints what was not looked at: a job's history
   keeps it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @found TABLE
    (
        FoundId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Priority tinyint NOT NULL,
        Finding nvarchar(60) NOT NULL,
        ObjectName nvarchar(300) NULL,
        Figure nvarchar(100) NULL,
        Advice nvarchar(1000) NOT NULL,
        Statement nvarchar(1000) NULL
    );
    DECLARE @id int = 0;
    DECLARE @count int = 0;
    DECLARE @message nvarchar(2048);

    IF @Help = 1
    BEGIN
        PRINT N'usp_CheckHealth is usp_Health for a job: it fails (50290) when something is wrong, so that a SQL Server
Agent job fails and tells its operator. It changes nothing. What could not be looked at is shown and
printed, whatever its priority number: silence would look like health.
  @failAt  1 to 199, 10 by default: fail for findings of this priority number or a lower one
Example: EXECUTE [audit].[usp_CheckHealth] @failAt = 50;';
        RETURN 0;
    END;

    IF ISNULL(@failAt, 0) NOT BETWEEN 1 AND 199
        THROW 50291, N'@failAt must be 1 to 199.', 1;

    /* As the caller, who may see more of the server than a user of one database. */
    EXECUTE AS CALLER;
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    EXECUTE [audit].[usp_Health];
    REVERT;

    DELETE FROM @found WHERE Priority > @failAt AND Finding <> N'not looked at';
    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement
    FROM @found AS f
    ORDER BY f.FoundId;

    WHILE EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id AND f.Finding = N'not looked at')
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @message = CONCAT(N'Not looked at: ', f.ObjectName, N'. ', f.Advice)
        FROM @found AS f
        WHERE f.FoundId > @id
          AND f.Finding = N'not looked at'
        ORDER BY f.FoundId;
        PRINT @message;
    END;
    SET @id = 0;
    DELETE FROM @found WHERE Priority > @failAt;

    SET @message = N'Configuration audit: ';
    WHILE @count < 5 AND EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id)
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @count = @count + 1,
            @message = LEFT(CONCAT(@message, f.Finding, N', ' + f.ObjectName, N' (' + f.Figure + N')', N'. '), 1900)
        FROM @found AS f
        WHERE f.FoundId > @id
        ORDER BY f.FoundId;
    END;
    IF @count = 0
        RETURN 0;

    SET @message = REPLACE(CONCAT(@message, N'What to do: EXECUTE [audit].[usp_Health];'), N'%', N'%%');   /* F-133 */
    THROW 50290, @message, 1;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-131: in a trigger XACT_ABORT is ON; does OFF inside a procedure it calls keep the
   user's statement alive when the procedure catches the error?
   Run in a scratch database with Service Broker on; it cleans up after itself. */
EXECUTE sys.sp_executesql N'
CREATE PROCEDURE dbo.ProbeSend AS
BEGIN
    SET XACT_ABORT OFF;
    BEGIN TRY
        SEND ON CONVERSATION ''00000000-0000-0000-0000-000000000001'' (0x01);
    END TRY
    BEGIN CATCH
        PRINT CONCAT(ERROR_NUMBER(), N'' XACT_STATE '', XACT_STATE());
    END CATCH;
END;';
CREATE TABLE dbo.ProbeTable (a int NOT NULL);
EXECUTE sys.sp_executesql N'
CREATE TRIGGER dbo.ProbeTrigger ON dbo.ProbeTable AFTER INSERT AS EXECUTE dbo.ProbeSend;';
GO
INSERT INTO dbo.ProbeTable (a) VALUES (1);      /* 3616 here: the user's statement is lost */
GO
SELECT N'F-131' AS Fact, N'8426 XACT_STATE 1 printed, no error 3616, 1 row' AS Expected, (SELECT COUNT(*) FROM dbo.ProbeTable) AS Observed;
GO
DROP TABLE dbo.ProbeTable;
DROP PROCEDURE dbo.ProbeSend;
GO

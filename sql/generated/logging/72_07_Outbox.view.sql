SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [logging].[Outbox]
AS
/* Redial 0.1.0, configuration logging */
/* Sending by INSERT, for tools that can do nothing else: each row is a message of usp_SendMessages, the
   rows of one statement are one batch, sent in the order of Ordinal (Outbox_Insert). The view shows no
   row and has no table behind it, so whatever inserts past its trigger (BULK INSERT and bcp do, unless
   told FIRE_TRIGGERS) fails with 4406 instead of storing rows nobody sends (F-332). */
SELECT
    CONVERT(int, NULL) AS Ordinal,
    CONVERT(nvarchar(256), NULL) AS MessageType,
    CONVERT(varbinary(max), NULL) AS MessageBody,
    CONVERT(nvarchar(4000), NULL) AS MessageKey,
    CONVERT(uniqueidentifier, NULL) AS MessageId
WHERE 1 = 0;
GO

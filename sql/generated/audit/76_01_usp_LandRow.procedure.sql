SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Lands one row: for the row-by-row pass and the search for a poison row. */
BEGIN
    SET NOCOUNT ON;

    INSERT INTO [audit].[Landing] (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
    VALUES (@conversationId, @handle, @sequence, @messageType, @body);
END;
GO

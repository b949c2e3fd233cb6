SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)                /* as it came out of the queue */
AS
/* Redial 0.1.0, configuration logging */
/* Lands one row: for the row-by-row pass and the search for a poison row.
   Runs inside its caller's transaction; raises when the row cannot be processed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* the caller undoes one row */
    INSERT INTO [logging].[Landing] (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
    VALUES (@conversationId, @handle, @sequence, @messageType, @body);

    RETURN 0;
END;
GO

SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The pool's slots are rows that exist from deployment on. Every deployment adds what is missing and
   takes away what is beyond the pool's size; a slot that is busy now is left for the next deployment.
   Nobody sends on one beyond the size. */
DECLARE @number int = 1;
DECLARE @slot nvarchar(200);
DECLARE @handle uniqueidentifier;
DECLARE @result int;
DECLARE @id int = 0;
DECLARE @extra TABLE (ExtraId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Slot nvarchar(200) NOT NULL, Handle uniqueidentifier NOT NULL);

WHILE @number <= 16
BEGIN
    SET @slot = RIGHT(CONCAT(N'000', CONVERT(nvarchar(5), @number)), 4);

    IF NOT EXISTS (SELECT 1
                   FROM [etl].[SessionConversations] AS sc
                       /* NOLOCK: a slot in use is there all the same, and only deployments add slots */
                       WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                   WHERE sc.ConfigId = 1 AND sc.ConversationKey = @slot)
    BEGIN
        INSERT INTO [etl].[SessionConversations] (ConfigId, ConversationKey, Handle)
        VALUES (1, @slot, NEWID());
    END;

    SET @number = @number + 1;
END;

/* No cursor: each round commits, and CURSOR_CLOSE_ON_COMMIT may be on. */
INSERT INTO @extra (Slot, Handle)
SELECT sc.ConversationKey, sc.Handle
FROM [etl].[SessionConversations] AS sc
    /* NOLOCK: busy ones are asked below, without waiting */
    WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
WHERE sc.ConfigId = 1 AND sc.ConversationKey > N'0016';

WHILE EXISTS (SELECT 1 FROM @extra AS e WHERE e.ExtraId > @id)
BEGIN
    SELECT TOP (1) @id = e.ExtraId, @slot = e.Slot, @handle = e.Handle FROM @extra AS e WHERE e.ExtraId > @id ORDER BY e.ExtraId;

    /* EndOfStream, and the slot is empty; 1: busy, 2: logged, 3: somebody has emptied it meanwhile. */
    EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

    IF @result IN (0, 3)
    BEGIN
        DELETE sc
        FROM [etl].[SessionConversations] AS sc
            WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @slot
          AND sc.Handle <> @handle      /* emptied, */
          AND sc.BegunUtc IS NULL;      /* and nobody has begun another dialog in it since */
    END;
END;
GO

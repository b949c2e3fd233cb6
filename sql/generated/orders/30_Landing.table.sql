SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What arrived, in full: user messages and the EndOfStream, EndDialog and Error rows too.
   Insert-only. A rowversion is given once, at the insert, and never changes here, so it is both the
   clustered key and the range readers ask for (rows with from <= RowVersion < mark). It is no order:
   rows of one batch may get theirs in any. ConversationId, MessageSequence is the order sent.
   Body is byte-exact; NULL stands for a message without a body and for an empty one, which the
   broker does not tell apart.
   ConversationKey, KeySequence and MessageId are filled by the choices that carry them. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[Landing]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[Landing]
    (
        RowVersion rowversion NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        LandedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Landing_LandedUtc] DEFAULT (SYSUTCDATETIME()),
        ConversationKey nvarchar(200) NULL,
        KeySequence bigint NULL,
        MessageId uniqueidentifier NULL,
        SentUtc datetime2(3) NULL,              /* this and the rest: out of the envelope */
        SenderLogin nvarchar(128) NULL,
        SenderApp nvarchar(128) NULL,
        SenderHost nvarchar(128) NULL,
        CONSTRAINT [PK_Landing] PRIMARY KEY CLUSTERED (RowVersion)
    );
    /* Every reader inserts at the end of this key. From 2019 on the server lets them take turns there
       (CREATE INDEX page); before, the option is a syntax error, so it stands in a text of its own. */
    IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) = 8
       OR CONVERT(int, PARSENAME(CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')), 4)) >= 15
        EXECUTE sys.sp_executesql N'ALTER INDEX [PK_Landing] ON [orders].[Landing] SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON);';
    EXECUTE [orders].[usp_Mark] N'TABLE', N'Landing';
    COMMIT TRANSACTION;
END;
GO

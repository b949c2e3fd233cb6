/* Seed 003, Service Broker Demystified - CLOSED conversations: for the lint rules and nothing else. The
   article's own scripts are pictures in the text we have; these are the statements it and the comments
   under it spell out: its table of radio slang row by row, then the question about clean-up. Completed
   where cut: the handle after BEGIN DIALOG, the column list of RECEIVE, the queues' and body's quotes. */
BEGIN DIALOG @h FROM SERVICE [Bandit] TO SERVICE 'Snowman'; SEND ON CONVERSATION @h ('What''s your twenty?');
GO
RECEIVE * FROM [Queue]; SEND ON CONVERSATION @h ('At the choke and puke.');
GO
RECEIVE * FROM [SenderQueue]; SEND ON CONVERSATION @h ('I''ll meet you there in 20 minutes.');
GO
END CONVERSATION @h;
GO
END CONVERSATION @conversation_handle WITH CLEANUP;
GO

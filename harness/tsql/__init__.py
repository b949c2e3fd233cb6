"""T-SQL text to syntax trees: lexer, parser, batch splitting. Knows no other part of Redial."""

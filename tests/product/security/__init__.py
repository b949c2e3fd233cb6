"""Who may do what with what is installed."""

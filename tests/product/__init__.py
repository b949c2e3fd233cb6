"""What a user installs: configurations, templates, the T-SQL itself, deployment."""

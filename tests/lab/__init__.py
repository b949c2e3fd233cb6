"""What proves both: searches, scenarios, torture, pages."""

"""System views, functions and procedures over the live state of an instance."""

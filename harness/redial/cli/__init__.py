"""What a user types: each command is one function, and its errors are sentences."""

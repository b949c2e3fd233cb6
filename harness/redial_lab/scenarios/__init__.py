"""Stories told to any server: the load, what is watched, and when it is over."""

"""Coverage-guided fuzzing of whatever takes bytes or text from strangers."""

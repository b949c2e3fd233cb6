"""Looking at an installation: evidence, verdict, report."""

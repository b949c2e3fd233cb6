"""docs/generated/features.md: what peers do, what we do, and the tests that prove ours."""

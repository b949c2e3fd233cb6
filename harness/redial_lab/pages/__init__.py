"""What generated pages say."""

"""From the landing table to files a notebook reads."""

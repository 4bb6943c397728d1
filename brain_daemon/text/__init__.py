"""Text to terms and names to keys: pure functions of strings, below store and index."""

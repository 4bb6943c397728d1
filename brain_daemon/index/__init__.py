"""The resident mirror of the store: what recall scans instead of SQLite."""

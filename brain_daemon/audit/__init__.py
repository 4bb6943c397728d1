"""What was refused and what was destroyed, in a file of its own, its lines chained by hashes."""

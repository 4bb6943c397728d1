"""What the daemon does for its callers: operations, the writer thread, policy, admin."""

"""What a person types: the ``brain`` command, a client of the daemon and nothing more."""

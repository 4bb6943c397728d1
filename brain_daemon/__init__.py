"""A local memory for AI agents: hybrid recall behind a Unix socket."""

__version__ = "0.1.0"

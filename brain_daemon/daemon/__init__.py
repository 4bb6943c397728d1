"""The process: lock, socket, signals, start-up and drain. The composition root."""

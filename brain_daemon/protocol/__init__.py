"""Bytes to messages and back, limits, back-pressure: msgpack-RPC on a Unix stream.

Layer: below service (which it is handed as a callable and knows nothing of), above errors.
"""

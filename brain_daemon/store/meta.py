"""The ``meta`` table: a few named facts about the whole store."""

import apsw


def read(conn: apsw.Connection, key: str) -> str | None:
    """Give the value of ``key``, or None."""
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]


def write(conn: apsw.Connection, key: str, value: str) -> None:
    """Set ``key`` to ``value``."""
    conn.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def read_all(conn: apsw.Connection) -> dict[str, str]:
    """Give every entry."""
    return dict(conn.execute("SELECT key, value FROM meta ORDER BY key"))

"""Logging: plain text for people, priority prefixes for the journal; never memory text."""

import logging
import os
import sys
from typing import ClassVar


class _JournalFormatter(logging.Formatter):
    """``<3>`` to ``<7>`` in front of each line: the journal reads the priority from it."""

    PRIORITIES: ClassVar[dict[int, int]] = {
        logging.DEBUG: 7,
        logging.INFO: 6,
        logging.WARNING: 4,
        logging.ERROR: 3,
        logging.CRITICAL: 2,
    }

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{self.PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).splitlines())


def configure(level: str) -> None:
    """Log to standard error, in the journal's form when that is where it leads."""
    handler = logging.StreamHandler(sys.stderr)
    if os.environ.get("JOURNAL_STREAM"):
        handler.setFormatter(_JournalFormatter("%(name)s: %(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)

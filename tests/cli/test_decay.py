"""``decayed`` and ``extend``: what is asked of the daemon and what is printed."""

import json
from typing import Any

from brain_daemon.cli import exits

Stand = Any

CHUNK = {
    "id": 3,
    "document_id": 2,
    "uri": "memory:2",
    "title": "Key",
    "text": "The key\x1b is " + "x" * 200,
    "expires_at": "2020-01-01T00:00:00Z",
}


def test_decayed_lists_what_and_since_when(stand: Stand) -> None:
    answer = {"chunks": [CHUNK], "n_decayed": 7}
    stand.answers["decayed"] = lambda params: answer
    printed = stand.run("decayed").stdout
    assert printed.startswith("2020-01-01T00:00:00Z  document 2  id 3  Key\n    The key\\x1b is xx")
    assert printed.endswith("…\n7 chunks expired\n")
    stand.run("decayed", "--k", "5", "--domain", "home")
    assert stand.params("decayed") == [{}, {"k": 5, "domain": "home"}]
    assert json.loads(stand.run("decayed", "--json").stdout) == answer


def test_extend_until_or_for_good(stand: Stand) -> None:
    stand.answers["decay.extend"] = lambda params: {**params, "chunk_ids": [3]}
    assert stand.run("extend", "2", "--until", "2030-01-01").stdout == (
        "document 2 expires at 2030-01-01\n"
    )
    assert stand.run("extend", "2", "--forever").stdout == "document 2 expires never\n"
    assert json.loads(stand.run("extend", "2", "--forever", "--json").stdout)["chunk_ids"] == [3]
    assert stand.params("decay.extend") == [
        {"document_id": 2, "expires_at": "2030-01-01"},
        {"document_id": 2, "expires_at": None},
        {"document_id": 2, "expires_at": None},
    ]


def test_extend_needs_one_of_the_two(stand: Stand) -> None:
    assert stand.run("extend", "2").exit_code == exits.USAGE
    both = stand.run("extend", "2", "--forever", "--until", "2030-01-01")
    assert both.exit_code == exits.USAGE

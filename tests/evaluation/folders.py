"""A collection of a dozen documents, small enough to know every answer."""

import json
from pathlib import Path
from typing import Any

LONG = "\n\n".join(
    f"Paragraph {n} of the almanac tells of tides, moons and the weather at sea. " * 4
    for n in range(1, 9)
)
CORPUS: list[dict[str, Any]] = [
    {"_id": "whale", "title": "Whales", "text": "The blue whale eats krill in cold water."},
    {"_id": "krill", "title": "Krill", "text": "Krill feed on algae below the sea ice."},
    {"_id": "algae", "title": "Algae", "text": "Algae need light and carbon dioxide to grow."},
    {"_id": "baker", "title": "", "text": "The baker in Rue Cler opens at six and sells rye."},
    {"_id": "ferry", "title": "", "text": "The ferry to Naxos leaves Piraeus at noon."},
    {"_id": "almanac", "title": "Almanac", "text": LONG},
    {"_id": "empty", "title": "", "text": ""},
    {
        "_id": "a/1",
        "title": "",
        "text": "Ana: I moved to Lisbon in March.",
        "metadata": {
            "sample": "a",
            "session": 1,
            "seq": 0,
            "session_date": "1:56 pm on 8 May, 2023",
        },
    },
    {
        "_id": "a/2",
        "title": "",
        "text": "Ben: How is the flat?",
        "metadata": {
            "sample": "a",
            "session": 1,
            "seq": 1,
            "session_date": "1:56 pm on 8 May, 2023",
        },
    },
    {
        "_id": "b/1",
        "title": "",
        "text": "Cy: I moved to Lisbon in June.",
        "metadata": {"sample": "b", "session": 1, "seq": 0, "session_date": "2024-06-01"},
    },
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "What does the blue whale eat?"},
    {"_id": "q2", "text": "What does the food of krill need to grow?"},
    {"_id": "q3", "text": "When did she move to Lisbon?", "metadata": {"sample": "a"}},
    {"_id": "stems", "text": "growing lights"},
    {"_id": "unjudged", "text": "Who sells rye?"},
]
QRELS = [
    ("q1", "whale", 1),
    ("q2", "krill", 1),
    ("q2", "algae", 2),
    ("q3", "a/1", 1),
    ("stems", "algae", 1),
]
KG: list[dict[str, Any]] = [
    {"subject": "Krill", "relation": "eats", "object": "Algae", "docs": ["krill"]},
    {"subject": "Krill", "relation": "is", "object": "x" * 300, "docs": ["krill"]},
]
ENTITIES: list[dict[str, Any]] = [{"doc": "whale", "entities": ["Krill", "Blue whale"]}]


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_collection(folder: Path) -> Path:
    folder.mkdir()
    write_jsonl(folder / "corpus.jsonl", CORPUS)
    write_jsonl(folder / "queries.jsonl", QUERIES)
    write_jsonl(folder / "kg.jsonl", KG)
    write_jsonl(folder / "entities.jsonl", ENTITIES)
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, pair)) for pair in QRELS)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder

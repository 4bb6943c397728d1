"""The numbers that decide rankings, together: fixed once on the tuning collections.

They are no settings: answers would then depend on who started the daemon. `evaluation` passes
others, to show what each of them does; nobody else does.
"""

from dataclasses import dataclass

from brain_daemon.recall import expansion, graph, lexical, vector


@dataclass(frozen=True, slots=True)
class Tuning:
    """What recall runs with; 0 switches a rule off."""

    feedback_passages: int = vector.FEEDBACK_PASSAGES  # added to the vector leg's query
    lexical_floor: float = lexical.FLOOR  # share of the best BM25 below which nothing is listed
    expansion_passages: int = expansion.PASSAGES  # whose words the second lexical pass adds
    passage_seeds: int = graph.PASSAGE_SEEDS  # of the graph leg


TUNED = Tuning()

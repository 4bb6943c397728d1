"""Recall answers for people: each hit with its evidence and its reasons, and what was searched.

Every key is optional here: a leg, a reason or a field that a newer daemon adds is shown, and one
that it leaves out is not missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain_daemon.cli.output import console, plain, safe, safe_lines, table
from brain_daemon.cli.vault import path_of

if TYPE_CHECKING:
    from rich.text import Text

LEGS = ("vector", "lexical", "graph")
RRF_K = 60
_SNIPPET_CHARS = 300
_SNIPPET_LINES = 8
_LEG_LINES = 10
# Leg -> the key of its raw score in the provenance, and the name that a person reads.
_RAW_SCORE = {"vector": ("cosine", "cos"), "lexical": ("bm25", "bm25"), "graph": ("score", "ppr")}


def print_answer(answer: Mapping[str, Any], *, explain: bool) -> None:
    """Print a recall answer: the hits, and a footer that says what was searched."""
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    hits = answer.get("hits") or []
    for number, hit in enumerate(hits, 1):
        head = Text(f"{number:>2}. ", style="bold")
        head.append(title(hit), style="bold cyan")
        screen.print(head)
        for line in (where(hit), snippet(hit), why(hit)):
            screen.print(Padding(line, (0, 0, 0, 4), expand=False))
        screen.print()
    if not hits:
        screen.print(Text(nothing(answer), style="yellow"))
    if explain and hits:
        screen.print(Text("How the scores came about", style="bold"))
        screen.print(explanation(hits))
    if explain and not hits:
        _print_lists(answer)
    if explain and sureness(answer) is not None:
        screen.print(Text("How sure the answer is", style="bold"))
        screen.print(assessment(answer))
    for told in reading(answer) if explain else ():
        screen.print(Text(told, style="dim"))
    screen.print(Text(footer(answer), style="dim"))


def print_trace(trace: Mapping[str, Any]) -> None:
    """Print a trace: what was asked and when, how the scores came about, what was searched."""
    from rich.text import Text

    screen = console()
    request = trace.get("request") or {}
    screen.print(Text(safe(str(request.get("q", ""))), style="bold"))
    screen.print(Text(f"{plain(trace.get('at'))} · {plain(trace.get('decision'))}", style="dim"))
    hits = trace.get("hits") or []
    if hits:
        screen.print(explanation(hits))
    else:
        screen.print(Text(nothing(trace), style="yellow"))
    _print_lists(trace)
    for told in reading(trace):
        screen.print(Text(told, style="dim"))
    screen.print(Text(footer(trace), style="dim"))


def _print_lists(answer: Mapping[str, Any]) -> None:
    """Print the heads of the legs' lists, where there are any."""
    from rich.text import Text

    if ranked := {leg: ids for leg, ids in (answer.get("ranked") or {}).items() if ids}:
        screen = console()
        screen.print(Text("What each leg listed first: chunk and raw score", style="bold"))
        screen.print(_side_by_side(ranked))


def reading(answer: Mapping[str, Any]) -> Iterator[str]:
    """Say how the query was read, and whether the lexical leg searched twice and why."""
    lex = {kind: words for kind, words in (answer.get("lex") or {}).items() if words}
    if lex:
        yield "read as  " + " · ".join(
            f"{safe(kind)}: {', '.join(safe(str(w)) for w in words)}" for kind, words in lex.items()
        )
    if second := answer.get("expansion"):
        told = "second lexical pass: " + safe(str(second.get("reason")))
        if terms := second.get("terms"):
            told += f"; added {', '.join(safe(str(term['term'])) for term in terms)}"
        yield told


def _side_by_side(ranked: Mapping[str, Sequence[Sequence[Any]]]) -> Any:
    """Draw the heads of the legs' lists, one column each."""
    cells = {
        leg: [f"{plain(chunk_id)}  {score:.4g}" for chunk_id, score in listed[:_LEG_LINES]]
        for leg, listed in ranked.items()
    }
    n_rows = max(map(len, cells.values()))
    rows = [[n + 1, *("".join(c[n : n + 1]) for c in cells.values())] for n in range(n_rows)]
    return table(["#", *map(safe, cells)], rows)


def title(hit: Mapping[str, Any]) -> str:
    """Join the title and the heading path, which may begin with the title itself."""
    name = str(hit.get("title") or "")
    path = [str(part) for part in hit.get("heading_path") or []]
    if name and path[:1] != [name]:
        path.insert(0, name)
    return " › ".join(safe(part) for part in path) or safe(str(hit.get("uri") or "(untitled)"))


def location(hit: Mapping[str, Any]) -> str:
    """Give ``uri:lines``, a file as its path, relative where it lies below the working folder."""
    uri = str(hit.get("uri") or "")
    path = path_of(uri)
    if path is not None:
        here = Path.cwd()
        uri = str(path.relative_to(here) if path.is_relative_to(here) else path)
    lines = hit.get("lines")
    if isinstance(lines, Sequence) and len(lines) == 2:
        first, last = lines
        uri += f":{first}" if first == last else f":{first}-{last}"
    return safe(uri)


def where(hit: Mapping[str, Any]) -> Text:
    """Give the line below the title: where, when, and which chunk."""
    from rich.text import Text

    parts = [location(hit)]
    if hit.get("created_at"):
        parts.append(safe(str(hit["created_at"]))[:10])
    if hit.get("domain") not in (None, "default"):
        parts.append(safe(str(hit["domain"])))
    parts.append(f"id {plain(hit.get('id'), 'id')}")
    if (hit.get("n_sources") or 1) > 1:
        parts.append(f"{plain(hit['n_sources'], 'n_sources')} sources")
    for mark in ("pii", "flagged", "expired"):
        if hit.get(mark):
            parts.append(mark)
    return Text(" · ".join(parts), style="dim")


def snippet(hit: Mapping[str, Any]) -> Text:
    """Give the snippet, line by line, with the matched words set off."""
    from rich.text import Text

    drawn = Text()
    for part, matched in evidence(hit):
        drawn.append(safe_lines(part), style="bold yellow" if matched else "")
    lines = [line for line in drawn.split("\n") if line.plain.strip()]
    if len(lines) > _SNIPPET_LINES:
        lines[_SNIPPET_LINES:] = [Text("…")]
    return Text("\n").join(lines)


def evidence(hit: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Cut the snippet at its ``highlights``, which are UTF-8 byte ranges; True marks matches."""
    shown = hit.get("snippet")
    if shown is None:
        text = str(hit.get("text") or "")
        shown = text if len(text) <= _SNIPPET_CHARS else text[:_SNIPPET_CHARS] + "…"
    return split_at(str(shown), hit.get("highlights") or [])


def matched_words(hit: Mapping[str, Any]) -> list[str]:
    """Give the words of the snippet that matched, as they stand there, each once."""
    words = {part.casefold(): part for part, matched in evidence(hit) if matched}
    return list(words.values())


def split_at(text: str, ranges: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Cut ``text`` at byte ranges of its UTF-8; True marks the parts within one.

    Ranges may come in any order and overlap; what lies outside the text is ignored, and a bound
    inside a character moves to the start of that character.
    """
    data = text.encode("utf-8", "surrogatepass")
    position = 0
    for start, end in sorted((int(r[0]), int(r[1])) for r in ranges if len(r) == 2):
        start = _boundary(data, max(start, position))
        end = _boundary(data, min(end, len(data)))
        if end <= start:
            continue
        if start > position:
            yield data[position:start].decode("utf-8", "surrogatepass"), False
        yield data[start:end].decode("utf-8", "surrogatepass"), True
        position = end
    if position < len(data):
        yield data[position:].decode("utf-8", "surrogatepass"), False


def _boundary(data: bytes, offset: int) -> int:
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def why(hit: Mapping[str, Any]) -> Text:
    """Give one line with each leg's rank, its raw score and its reason."""
    from rich.text import Text

    drawn = Text()
    drawn.append("why  ", style="dim")
    if hit.get("relevance"):
        drawn.append(f"{safe(str(hit['relevance']))} · ", style="bold")
    listed = [(leg, of_leg(hit, leg)) for leg in LEGS]
    drawn.append(
        " · ".join(reason(leg, found, hit) for leg, found in listed if found) or "no leg is named",
        style="green",
    )
    return drawn


def of_leg(hit: Mapping[str, Any], leg: str) -> Mapping[str, Any] | None:
    """Give what a leg says about a hit; None where it did not list it."""
    found = (hit.get("provenance") or {}).get(leg)
    return found if isinstance(found, Mapping) and found.get("rank") else None


def reason(leg: str, found: Mapping[str, Any], hit: Mapping[str, Any]) -> str:
    """Say why a leg listed a hit: ``lexical #1 bm25 7.9 (moved, Lisbon)``."""
    text = f"{leg} #{found['rank']}"
    key, name = _RAW_SCORE[leg]
    if leg != "graph" and isinstance(found.get(key), int | float):
        text += f" {name} {found[key]:.{2 if leg == 'vector' else 1}f}"
    if terms := found.get("terms"):
        # The terms are stems; the words in the snippet read better, where it shows any.
        text += f" ({', '.join(safe(str(word)) for word in matched_words(hit) or terms)})"
    if via := graph_path(found.get("path") or [], hit.get("id")):
        text += f" via {via}"
    return text


def graph_path(path: Sequence[Any], hit_id: Any = None) -> str:
    """Write the nodes between the query and the hit; empty where the hit itself was a seed."""
    names = [plain(node) for node in path]
    if names[:1] == ["query"]:
        del names[0]
    if names[-1:] == [f"chunk {hit_id}"]:
        del names[-1]
    return " → ".join(names)


def explanation(hits: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the legs side by side: rank and raw score of each, and the sum that fuses them.

    An arrow tells by how many places a hit stands above or below its rank in the leg.
    """
    headings = ["#", "id", *(f"{leg} ({_RAW_SCORE[leg][1]})" for leg in LEGS), "fused", "path"]
    rows: list[list[Any]] = []
    for number, hit in enumerate(hits, 1):
        row: list[Any] = [number, plain(hit.get("id"), "id")]
        terms = []
        for leg in LEGS:
            found = of_leg(hit, leg)
            if found is None:
                row.append("–")
                continue
            raw = found.get(_RAW_SCORE[leg][0])
            cell = f"#{found['rank']} {raw:.4g}" if raw is not None else f"#{found['rank']}"
            cell += _risen(found["rank"] - number)
            row.append(cell + _moved(hit) if leg == "lexical" else cell)
            terms.append(f"1/{RRF_K + found['rank']}")
        fused = (hit.get("provenance") or {}).get("fused", hit.get("score"))
        row.append(f"{' + '.join(terms)} = {_score(fused)}" if terms else _score(fused))
        graph = of_leg(hit, "graph")
        row.append(graph_path((graph or {}).get("path") or [], hit.get("id")) or "–")
        rows.append(row)
    return table(headings, rows)


def _risen(places: int) -> str:
    return f" ↑{places}" if places > 0 else f" ↓{-places}" if places else ""


def _moved(hit: Mapping[str, Any]) -> str:
    """Say where the first lexical pass had a hit, when there was a second."""
    before = (hit.get("provenance") or {}).get("expansion")
    if not isinstance(before, Mapping):
        return ""
    return f" (was #{before['rank']})" if before.get("rank") else " (new)"


def _score(value: Any) -> str:
    return f"{value:.5f}" if isinstance(value, float) else plain(value)


def nothing(answer: Mapping[str, Any]) -> str:
    """Say why there is no hit."""
    because = answer.get("reason") or answer.get("decision") or "no reason given"
    return f"Nothing found: {safe(str(because))}"


def sureness(answer: Mapping[str, Any]) -> tuple[float, float] | None:
    """Give confidence and threshold of an answer; None where there was nothing to assess."""
    assessment = answer.get("assessment") or {}
    if not assessment.get("signals"):
        return None
    return assessment["confidence"], assessment["threshold"]


def assessment(answer: Mapping[str, Any]) -> Any:
    """Draw the signals that made the confidence, and what the second look came to."""
    found = answer.get("assessment") or {}
    signals = dict(found.get("signals") or {})
    look = found.get("rescue") or {}
    second = f"{plain(look.get('status'))}"
    if "confidence" in look:
        second += f", confidence {look['confidence']:.2f}"
    elif look.get("reason"):
        second += f" ({safe(str(look['reason']))})"
    return table([*map(safe, signals), "second look"], [[*map(_signal, signals.values()), second]])


def _signal(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else plain(value)


def footer(answer: Mapping[str, Any]) -> str:
    """Say which legs ran, which did not and why, over how many chunks, and how long it took."""
    ran, skipped = [], []
    for leg, state in (answer.get("legs") or {}).items():
        name, status = safe(str(leg)), state.get("status")
        if status == "ran":
            ran.append(f"{name} ({plain(state['candidates'])})" if "candidates" in state else name)
        else:
            because = f" ({safe(str(state['reason']))})" if state.get("reason") else ""
            skipped.append(f"{name} {plain(status)}{because}")
    parts = [" + ".join(ran)] if ran else []
    parts += skipped
    if (found := sureness(answer)) is not None:
        parts.append("confidence {:.2f} (answers from {:.2f})".format(*found))
    if isinstance(answer.get("visible"), int):
        parts.append(f"{answer['visible']:,} chunks visible")
    if isinstance(answer.get("took_us"), int | float):
        parts.append(f"{answer['took_us'] / 1000:.2f} ms")
    if answer.get("trace_id"):
        parts.append(f"trace {safe(str(answer['trace_id']))}")
    return " · ".join(parts)

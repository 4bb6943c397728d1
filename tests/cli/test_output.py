"""Safe text, JSON, and how values are shown."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.cli import output

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u2028\x00\x7f\r\n\U000e0041"


def obeyed(text: str) -> list[str]:
    """Characters that a terminal would obey or that reorder text."""
    return [
        c
        for c in text
        if c not in "\n\t"
        and (unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") or c in "\u202e\u2066\U000e0041")
    ]


def test_escapes_what_a_terminal_would_obey() -> None:
    shown = output.safe(HOSTILE)
    assert obeyed(shown) == []
    assert "\n" not in shown
    assert shown.startswith(r"\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\u2066")


@given(st.text())
def test_no_text_gets_a_control_through(text: str) -> None:
    assert obeyed(output.safe(text)) == []
    assert obeyed(output.safe_lines(text)) == []
    assert obeyed(output.json_text({"text": text})) == []


def test_ordinary_text_of_any_script_stays_as_it_is() -> None:
    text = "naïve 成语 שלום 👩\u200d👧 café می\u200cخواهم [bold]x[/bold]"
    assert output.safe(text) == text


def test_lines_and_tabs_are_kept_where_asked() -> None:
    assert output.safe_lines("a\r\n\tb\x1b[1m\rc\n") == "a\n\tb\\x1b[1m\\x0dc\n"


@given(st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_json_means_the_same_after_escaping(value: object) -> None:
    assert json.loads(output.json_text(value)) == value
    assert json.loads(output.json_text(value, indent=2)) == value
    assert "\n" not in output.json_text(value)


def test_bytes_become_hex_in_json() -> None:
    assert output.json_text({"sha256": b"\x00\xff"}) == '{"sha256":"00ff"}'


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("store_bytes", 7_654_321, "7.3 MiB"),
        ("store_bytes", 512, "512 B"),
        ("uptime_s", 42.25, "42.2 s"),
        ("uptime_s", 3725, "1 h 2 min"),
        ("uptime_s", 90_000, "1 d 1 h"),
        ("took_us", 1500, "1.5 ms"),
        ("chunks", 1234567, "1,234,567"),
        ("index.generation", 1234567, "1234567"),
        ("pid", 12345, "12345"),
        ("pii", False, "no"),
        ("region", None, "–"),
        ("roles", ["reader", "writer"], "reader, writer"),
        ("by_source", {"vault": 3}, "vault: 3"),
        ("name", "a\x1b[1m", r"a\x1b[1m"),
    ],
)
def test_values_are_shown_by_their_unit(name: str, value: object, shown: str) -> None:
    assert output.plain(value, name) == shown


def test_flatten_keeps_order_and_empty_maps() -> None:
    assert output.flatten({"b": {"z": 1, "y": {"x": 2}}, "a": {}}) == [
        ("b.z", 1),
        ("b.y.x", 2),
        ("a", {}),
    ]


def test_tables_and_pairs_show_markup_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    screen = output.console()
    screen.print(output.table(("[b]name", "n"), [("[red]x[/red]\x1b[1m", 1234), ("y", 5)]))
    screen.print(output.pairs([("[i]key", "[link=x]v")]))
    printed = capsys.readouterr().out
    for text in ("[b]name", r"[red]x[/red]\x1b[1m", "1,234", "[i]key", "[link=x]v"):
        assert text in printed
    assert "\x1b" not in printed

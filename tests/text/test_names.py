"""Entity keys."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_daemon.text.names import entity_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Ana  Souza", "ana souza"),
        ("\tAna\nSouza ", "ana souza"),
        ("“Ana Souza”,", "ana souza"),
        ("`foo_bar()`", "foo_bar"),
        ("**Straße**", "strasse"),
        ("STRASSE", "strasse"),
        ("Ｐｙｔｈｏｎ", "python"),
        ("Cafe\u0301", "café"),
        ("A\u200bna", "ana"),
        ("An\x00a", "ana"),
        ("Ana\u00a0Souza", "ana souza"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("C", "c"),
        ("#tag", "tag"),
        ("🎉", "🎉"),
        ("成语", "成语"),
        ("!!!", "!!!"),
        ("...", "..."),
        ("", ""),
        (" \u200b ", ""),
        ("\ud800x", "x"),
    ],
)
def test_key(name, key):
    assert entity_key(name) == key


def test_accents_tell_names_apart():
    assert entity_key("Peña") != entity_key("Pena")


@given(st.text(st.characters(codec=None)))
@settings(max_examples=500)
def test_key_is_a_fixed_point_and_clean(name):
    key = entity_key(name)
    assert entity_key(key) == key
    assert key == " ".join(key.split())
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in key)
    assert entity_key(f"  {name.upper()} ") == entity_key(name.upper())

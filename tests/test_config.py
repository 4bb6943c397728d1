"""The settings table, and the document that describes it."""

import re
from math import inf, nan
from pathlib import Path

import pytest

from brain_daemon import config
from brain_daemon.errors import BadRequest

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"


@pytest.mark.parametrize("setting", config.SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_documented_with_its_default(setting: config.Setting) -> None:
    (row,) = [
        line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| `{setting.name}`")
    ]
    default = setting.default
    shown = str(default).lower() if isinstance(default, bool) else default
    if default == "":
        shown = "(empty)"
    if isinstance(default, float):
        shown = f"{default:g}"
    assert row == f"| `{setting.name}` | `{setting.variable}` | {shown} | {setting.help} |"


@pytest.mark.parametrize("setting", config.SETTINGS, ids=lambda s: s.name)
def test_every_bound_is_enforced(setting: config.Setting) -> None:
    if setting.minimum is None or setting.maximum is None:
        assert isinstance(setting.default, bool | str)
        return
    assert setting.minimum <= setting.default <= setting.maximum
    for value in (setting.minimum - 1, setting.maximum * 2 + 1, inf, nan, "nan"):
        with pytest.raises(BadRequest, match=setting.name):
            config.load({setting.name: value}, environ={})


def test_precedence_and_sources(tmp_path: Path) -> None:
    file = tmp_path / "brain.toml"
    file.write_text("write_batch = 3\nmax_in_flight = 4\nmax_items = 500\n")
    settings = config.load(
        {"write_batch": 1}, {"BRAIN_WRITE_BATCH": "2", "BRAIN_MAX_IN_FLIGHT": "5"}, file
    )
    assert (settings["write_batch"], settings.sources["write_batch"]) == (1, "flag")
    assert (settings["max_in_flight"], settings.sources["max_in_flight"]) == (5, "environment")
    assert (settings["max_items"], settings.sources["max_items"]) == (500, str(file))
    assert settings.sources["write_queue"] == "default"


@pytest.mark.parametrize(
    "text", ["write_batch = ", "write_batch = true", "write_batch = 2.5", "\xff"]
)
def test_unfit_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "brain.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadRequest):
        config.load({}, {}, file)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"absent\.toml"):
        config.load({}, {}, tmp_path / "absent.toml")


def test_other_programs_variables_are_left_alone() -> None:
    config.load({}, {"BRAIN_SURGERY_SCHEDULE": "monday"})


def test_a_setting_with_choices_takes_no_other() -> None:
    assert config.load({"screening_policy": "reject"}, {})["screening_policy"] == "reject"
    with pytest.raises(BadRequest, match="give quarantine, reject, allow"):
        config.load({"screening_policy": "ask"}, {})


def test_a_reload_takes_over_all_but_what_is_read_at_the_start() -> None:
    running = config.load({"language": "none", "max_items": 500}, {})
    new = config.load({"write_batch": 5, "max_depth": 7}, {})
    taken, pending = new.taken_over_by(running)
    assert pending == ["language", "write_batch"]
    assert (taken["language"], taken.sources["language"]) == ("none", "flag")
    assert (taken["write_batch"], taken.sources["write_batch"]) == (256, "default")
    assert (taken["max_depth"], taken["max_items"]) == (7, 200_000)
    assert new.taken_over_by(new) == (new, [])


def test_the_document_names_what_a_reload_leaves() -> None:
    (sentence,) = re.findall(
        r"`socket`, .*? are read at the start\s+only", DOCUMENT.read_text(), re.S
    )
    assert tuple(re.findall(r"`(\w+)`", sentence)) == config.AT_START

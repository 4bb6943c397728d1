"""`brain policy`: what a file would make of somebody, without a daemon; and reloading."""

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.cli import exits
from brain_daemon.errors import BadRequest

Stand = Any
ME = pwd.getpwuid(os.geteuid()).pw_name
POLICY = f"""version = 1
[[rule]]
uid = 4001
roles = []
[[rule]]
group = "{ME}"
principal = "me"
roles = ["writer"]
domains = ["a/*"]
scopes = ["team"]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY.replace(f'group = "{ME}"', f"gid = {os.getegid()}"))
    file.chmod(0o600)
    return file


def test_a_good_file(stand: Stand, policy: Path) -> None:
    result = stand.run("policy", "check", str(policy))
    assert result.exit_code == exits.OK
    assert result.stdout == f"{policy}: 2 rules, all in order\n"
    found = json.loads(stand.run("policy", "check", str(policy), "--json").stdout)
    assert (found["ok"], found["as"]) == (True, None)
    assert found["rules"][1]["roles"] == ["reader", "writer"]
    assert stand.calls == []  # it needs no daemon


@pytest.mark.parametrize("who", [ME, str(os.geteuid())])
def test_it_shows_which_rule_lets_somebody_in(stand: Stand, policy: Path, who: str) -> None:
    result = stand.run("policy", "check", str(policy), "--as", who)
    assert result.exit_code == exits.OK
    assert "rule 1 (uid 4001) does not fit" in result.stdout
    assert f"rule 2 (gid {os.getegid()}) fits, and decides" in result.stdout
    assert "let in as me" in result.stdout
    found = json.loads(stand.run("policy", "check", str(policy), "--as", who, "--json").stdout)
    assert found["as"]["uid"] == os.geteuid()
    assert found["as"]["principal"]["domains"] == ["a/*"]
    assert found["as"]["principal"]["rule"] == f"rule 2 of {policy} (gid {os.getegid()})"


@pytest.mark.parametrize(
    ("who", "told"),
    [("4001", "rule 1 .* refuses"), ("4002", "none of the 2 rules"), ("65534", "could not map")],
)
def test_it_shows_why_somebody_is_refused(stand: Stand, policy: Path, who: str, told: str) -> None:
    result = stand.run("policy", "check", str(policy), "--as", who, "--json")
    assert result.exit_code == exits.NEGATIVE
    judged = json.loads(result.stdout)["as"]
    assert judged["principal"] is None
    import re

    assert re.search(told, judged["refusal"])
    assert "refused: " in stand.run("policy", "check", str(policy), "--as", who).stdout


def test_a_bad_file_is_a_no(stand: Stand, policy: Path) -> None:
    policy.write_text("version = 1\n[[rule]]\nuid = 1\nroles = ['king']\n")
    result = stand.run("policy", "check", str(policy))
    assert result.exit_code == exits.NEGATIVE
    assert f"the policy {policy} is refused: rule 1: roles" in result.stdout
    found = json.loads(stand.run("policy", "check", str(policy), "--json").stdout)
    assert (found["ok"], "king" in found["error"]) == (False, True)


def test_without_a_file_it_is_the_one_in_the_usual_place(
    stand: Stand, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(policy.parent))
    assert stand.run("policy", "check").stdout.startswith(f"{policy}: 2 rules")


def test_reload(stand: Stand) -> None:
    stand.answers["policy.reload"] = {"source": "/etc/p.toml", "sha256": "0" * 64, "rules": 3}
    assert stand.run("policy", "reload").stdout == "reloaded: 3 rules of /etc/p.toml\n"
    assert json.loads(stand.run("policy", "reload", "--json").stdout)["rules"] == 3
    stand.answers["policy.reload"] = BadRequest("the policy /etc/p.toml is refused: no")
    result = stand.run("policy", "reload")
    assert result.exit_code == exits.USAGE
    assert "is refused: no" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["burn"], [], ["reload", "x.toml"], ["reload", "--as", ME], ["check", "--as", "no-such-user"]],
)
def test_what_makes_no_sense_is_told(stand: Stand, policy: Path, arguments: list[str]) -> None:
    if arguments[:1] == ["check"]:
        arguments = [*arguments, str(policy)]
    assert stand.run("policy", *arguments).exit_code == exits.USAGE

"""A policy file: what it may hold, where it may stand, and that one fault refuses it whole."""

import grp
import os
import pwd
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.errors import BadRequest
from brain_daemon.model import PeerCredentials, Quota
from brain_daemon.policy.file import load, load_default
from tests.daemon_process import ROOT

ME = pwd.getpwuid(os.geteuid()).pw_name
MY_GROUP = grp.getgrgid(os.getegid()).gr_name
RULE = f'version = 1\n[[rule]]\nuser = "{ME}"\nroles = ["reader"]\ndomains = ["*"]\n'
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "policy.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def refused(path: Path) -> str:
    with pytest.raises(BadRequest) as caught:
        load(path)
    assert str(path) in caught.value.message
    return caught.value.message


def test_every_key(tmp_path: Path) -> None:
    policy = load(
        written(
            tmp_path,
            f"""version = 1
[[rule]]
user = "{ME}"
principal = "me"
roles = ["writer"]
domains = ["a/*", "b"]
scopes = ["team"]
limits = {{ connections = 3, in_flight = 4, bytes = "5 MiB" }}
[[rule]]
group = "{MY_GROUP}"
roles = ["operator"]
[[rule]]
uid = [1000, 2000]
roles = ["reader"]
domains = ["u/{{uid}}/*"]
limits.bytes = 7
[[rule]]
gid = 42
roles = ["admin"]
[[rule]]
uid = 5
roles = []
""",
        )
    )
    first, second, third, fourth, fifth = policy.rules
    assert (first.kind, first.low, first.high) == ("uid", os.geteuid(), os.geteuid())
    assert (first.principal, first.domains, first.scopes) == ("me", ("a/*", "b"), ("team",))
    assert first.roles == {"reader", "writer"}
    assert first.quota == Quota(3, 4, 5 << 20)
    assert (second.kind, second.low, second.domains) == ("gid", os.getegid(), ())
    assert (second.selector, second.roles) == (f"group {MY_GROUP}", {"operator"})
    assert (third.low, third.high, third.quota.bytes) == (1000, 2000, 7)
    assert third.selector == "uid 1000 to 2000"
    assert third.principal == "{user}"
    assert (fourth.kind, fourth.low, fourth.domains) == ("gid", 42, ("*",))
    assert fourth.roles == {"reader", "writer", "operator", "admin"}
    assert fifth.roles == frozenset()
    assert policy.source == str(tmp_path / "policy.toml")
    assert re.fullmatch("[0-9a-f]{64}", policy.digest)


def test_a_file_without_rules_lets_nobody_in(tmp_path: Path) -> None:
    policy = load(written(tmp_path, "version = 1\n"))
    assert policy.find(PeerCredentials(1, os.geteuid(), os.getegid(), ())) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "version is missing"),
        ("version = 2", "version"),
        ("version = 1\nrule = 5", "rule"),
        ('version = 1\ndefault = "allow"', "unknown parameter 'default'"),
        ("version = ", "not TOML"),
        ("[[rule]]\n" * 3, "version is missing"),
        ("version = 1\n[[rule]]\n", "rule 1: .*roles is missing"),
        ('version = 1\n[[rule]]\nroles = ["reader"]', "rule 1: it has 0 of user, uid"),
        (RULE + "uid = 0", "rule 1: it has 2 of .*user, uid"),
        (RULE.replace("reader", "root"), "rule 1: .*roles"),
        (RULE.replace(f'"{ME}"', '"no-such-user-here"'), "there is no user 'no-such-user-here'"),
        (RULE.replace(f'user = "{ME}"', 'group = "no-such-group"'), "no group 'no-such-group'"),
        (RULE.replace(f'user = "{ME}"', 'user = "a\\u0000b"'), "there is no user"),
        (RULE.replace(f'user = "{ME}"', "uid = -1"), "rule 1: uid"),
        (RULE.replace(f'user = "{ME}"', "uid = 4294967295"), "rule 1: uid"),
        (RULE.replace(f'user = "{ME}"', "uid = true"), "rule 1: uid"),
        (RULE.replace(f'user = "{ME}"', "uid = [5, 4]"), "no range"),
        (RULE.replace(f'user = "{ME}"', "uid = [1, 2, 3]"), "rule 1: uid"),
        (RULE.replace(f'user = "{ME}"', "uid = 65534"), "could not map"),
        (RULE.replace(f'user = "{ME}"', "uid = [65534, 65534]"), "could not map"),
        (RULE.replace(f'user = "{ME}"', 'user = "nobody"'), "could not map"),
        (RULE.replace(f'user = "{ME}"', "gid = 65534"), "could not map"),
        (RULE.replace('["*"]', '["a*b"]'), "domains"),
        (RULE.replace('["*"]', '["**"]'), "domains"),
        (RULE.replace('["*"]', '[""]'), "domains"),
        (RULE.replace('["*"]', '["{name}/x"]'), "brace"),
        (RULE.replace('["*"]', '["{user"]'), "brace"),
        (RULE.replace('["*"]', '["x}"]'), "brace"),
        (RULE.replace('["*"]', '["user/{uid}*"]'), "prefix of other users"),
        (RULE.replace('["*"]', '["{user}*"]'), "prefix of other users"),
        (RULE + 'scopes = ["{user}"]', "brace"),
        (RULE + 'principal = "a\\nb"', "principal"),
        (RULE + 'principal = ""', "principal"),
        (RULE + 'principal = "{uids}"', "brace"),
        (RULE.replace('domains = ["*"]', ""), "domains is missing"),
        (RULE.replace('"reader"', '"operator"'), "an operator sees no content"),
        (RULE.replace('"reader"', ""), "no roles means refused"),
        (RULE.replace('"reader"', '"admin"'), "an admin"),
        (RULE + 'domian = ["a"]', "unknown parameter 'domian'"),
        (RULE + "limits = { conections = 3 }", "unknown parameter 'limits.conections'"),
        (RULE + "limits = { connections = 0 }", "connections"),
        (RULE + 'limits = { bytes = "5 MB" }', "limits.bytes is '5 MB'"),
        (RULE + "limits = { bytes = -1 }", "bytes"),
        (RULE + RULE.replace("version = 1", "").replace("reader", "x"), "rule 2: "),
    ],
)
def test_one_fault_refuses_the_file_whole_and_is_named(
    tmp_path: Path, text: str, told: str
) -> None:
    assert re.search(told, refused(written(tmp_path, text)))


@pytest.mark.parametrize("depth", [100, 300, 500, 5000])
@pytest.mark.parametrize("key", ["uid", "roles", "limits", "rule"])
def test_deep_nesting_is_refused_like_all_else(tmp_path: Path, key: str, depth: int) -> None:
    rule = RULE.replace(f'user = "{ME}"', "")
    refused(written(tmp_path, f"{rule}{key} = {'[' * depth}{']' * depth}"))


@given(
    place=st.integers(0, len(RULE)),
    length=st.integers(0, 12),
    insert=st.text(st.sampled_from('[]{}"=,.*\n x0159eE-_#\\'), max_size=6) | st.text(max_size=3),
)
def test_whatever_is_written_it_is_a_policy_or_a_typed_refusal(
    tmp_path_factory: pytest.TempPathFactory, place: int, length: int, insert: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    folder.mkdir(exist_ok=True)
    text = RULE[:place] + insert + RULE[place + length :]
    file = folder / "policy.toml"
    file.write_bytes(text.encode(errors="surrogatepass"))
    file.chmod(0o600)
    told = str(file)
    try:
        load(file)
    except BadRequest as error:
        told = error.message
    assert str(file) in told


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "")
    file.write_bytes(b"version = 1 # \xff")
    assert "not TOML" in refused(file)
    file.write_text("# " + "x" * (1 << 20))
    assert "more than 1048576 bytes" in refused(file)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o660])
def test_what_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, RULE, mode)
    assert f"has mode {mode:04o}" in refused(file)
    file.chmod(0o644)
    load(file)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_what_stands_where_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    file = written(folder, RULE)
    load(file)
    folder.chmod(mode)
    assert f"{folder} has mode {mode:04o}" in refused(file)


@pytest.mark.parametrize(("mode", "fine"), [(0o777, False), (0o1777, True)])
def test_a_folder_further_up_may_be_shared_with_the_sticky_bit(
    tmp_path: Path, mode: int, fine: bool
) -> None:
    upper = tmp_path / "upper"
    (upper / "conf").mkdir(parents=True)
    file = written(upper / "conf", RULE)
    upper.chmod(mode)
    if fine:
        load(file)
    else:
        assert f"{upper} has mode 0777" in refused(file)


@as_root
@pytest.mark.parametrize("what", ["file", "folder", "folder above"])
def test_what_belongs_to_another_user_is_refused(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "upper" / "conf"
    folder.mkdir(parents=True)
    file = written(folder, RULE)
    given = {"file": file, "folder": folder, "folder above": folder.parent}[what]
    os.chown(given, 1234, 1234)
    assert f"{given} belongs to uid 1234" in refused(file)


def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file = written(tmp_path / "real", RULE)
    (tmp_path / "link.toml").symlink_to(file)
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    assert f"name the file itself, {file}" in refused(tmp_path / "link.toml")
    assert f"name it as {file}" in refused(tmp_path / "folder" / "policy.toml")
    assert "cannot be read" in refused(tmp_path / "real" / "absent.toml")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "not a regular file" in refused(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert "not a regular file" in refused(tmp_path / "folder")


def test_the_named_file_must_exist_and_the_default_one_need_not(tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    assert load_default("", absent).source == ""
    with pytest.raises(BadRequest, match=r"absent\.toml"):
        load_default(str(absent), absent)
    file = written(tmp_path, RULE)
    assert load_default("", file).source == load_default(str(file), absent).source == str(file)
    absent.symlink_to(tmp_path / "nowhere")  # something stands there: that is not "no policy"
    with pytest.raises(BadRequest, match="link"):
        load_default("", absent)


def test_the_example_of_the_document_is_a_policy(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"^```toml\n(.*?)^```", (ROOT / "docs" / "policy.md").read_text(), re.M | re.S
    )
    for name, real in (
        ('"alice"\nprincipal', f'"{ME}"\nprincipal'),
        ("memory-operators", MY_GROUP),
    ):
        assert name in example
        example = example.replace(name, real)
    assert len(load(written(tmp_path, example)).rules) == 3

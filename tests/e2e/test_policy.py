"""The policy over a real socket, with processes of real users: who, by which rule, may do what."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.errors import BadRequest, ConnectionLost, Forbidden, Overloaded
from brain_daemon.policy.rules import ROLES
from brain_daemon.service.dispatch import OPERATIONS
from tests.daemon_process import ROOT, Daemon
from tests.e2e.callers import Caller, as_root, open_to_all, write_policy
from tests.protocol.serving import wait_until

pytestmark = as_root

OWN = {"uid": 0, "roles": ["admin"], "principal": "root"}
RULES: list[dict[str, Any]] = [
    OWN,
    {"uid": 2001, "roles": []},
    {"uid": 2002, "roles": ["reader"], "principal": "rita", "domains": ["*"], "scopes": ["*"]},
    {"uid": 2003, "roles": ["writer"], "principal": "willy", "domains": ["w/*"], "scopes": ["t"]},
    {"gid": 3004, "roles": ["operator"], "principal": "ops:{uid}"},
    {"uid": 2005, "roles": ["admin"], "principal": "ada"},
    {"uid": [2100, 2199], "roles": ["reader", "operator"], "principal": "{uid}", "domains": ["x"]},
    {"gid": [3010, 3019], "roles": ["writer"], "principal": "g:{uid}", "domains": ["g/{uid}/*"]},
    {"uid": [60000, 70000], "roles": ["admin"], "principal": "anybody"},
]
# Who, and with which rule's roles; None: refused.
IDENTITIES: dict[str, tuple[Caller, int | None, set[str] | None]] = {
    "refused by a rule without roles": (Caller(2001), 2, None),
    "refused by it although in a group": (Caller(2001, 3004, (3010,)), 2, None),
    "reader": (Caller(2002), 3, {"reader"}),
    "reader, by the first rule of two": (Caller(2002, 5000, (3004, 3010)), 3, {"reader"}),
    "writer": (Caller(2003), 4, {"reader", "writer"}),
    "operator by primary group": (Caller(2050, 3004), 5, {"operator"}),
    "operator by supplementary group": (Caller(2051, 5000, (7, 3004)), 5, {"operator"}),
    "operator as the first of two groups": (Caller(2052, 3010, (3004,)), 5, {"operator"}),
    "admin": (Caller(2005), 6, set(ROLES)),
    "first of a range": (Caller(2100), 7, {"reader", "operator"}),
    "last of a range": (Caller(2199), 7, {"reader", "operator"}),
    "after a range": (Caller(2200), None, None),
    "group of a range": (Caller(2060, 5000, (3019,)), 8, {"reader", "writer"}),
    "unknown": (Caller(2006, 5000, (5001,)), None, None),
    "unmapped, in a range of admins": (Caller(65534), None, None),
    "unmapped, in every group": (Caller(65534, 3004, (3010,)), None, None),
    "beside the unmapped": (Caller(65533), 9, set(ROLES)),
    "of more than 256 groups": (Caller(2070, 5000, (*range(7000, 7400), 3004)), 5, {"operator"}),
}
# Such that who is allowed does no harm; a fault of them is told after the role was asked.
PARAMS: dict[str, dict[str, Any]] = {
    "remember": {"text": "zebra", "domain": "nowhere"},
    "backup": {"path": "relative"},
    "import": {"records": []},
    "recall": {"q": "zebra"},
    "get": {"id": 999},
    "forget": {"id": 999},
}


def roles_of_document() -> dict[str, str]:
    """The table of docs/policy.md: operation → role."""
    text = (ROOT / "docs" / "policy.md").read_text().split("## Roles")[1]
    rows = re.findall(r"^\| (anyone|reader|writer|operator|admin) \| (.*) \|$", text, re.M)
    return {method: role for role, row in rows for method in re.findall(r"`([\w.]+)`", row)}


@pytest.fixture
def policy(public: Path) -> Path:
    return write_policy(public / "policy.toml", RULES)


@pytest.fixture
def served(public: Path, policy: Path) -> Iterator[Daemon]:
    running = Daemon(public / "d", BRAIN_POLICY=str(policy)).start()
    open_to_all(running)
    yield running
    if running.process is not None and running.process.poll() is None:
        assert running.stop() == 0, running.log.read_text()


def test_the_document_has_the_role_of_every_operation() -> None:
    assert roles_of_document() == {name: op.role for name, op in OPERATIONS.items()}


def test_every_identity_with_every_operation(served: Daemon) -> None:
    needed = roles_of_document()
    calls = [(method, PARAMS.get(method, {})) for method in sorted(needed)]
    for name, (caller, rule, roles) in IDENTITIES.items():
        outcomes = dict(zip([m for m, _ in calls], caller.calls(served, *calls), strict=True))
        for method, (code, told) in outcomes.items():
            allowed = roles is not None and needed[method] in {"anyone", *roles}
            if method == "remember" and allowed and "admin" not in (roles or ()):
                assert "domain 'nowhere' is not one" in told, (name, code, told)
            else:
                assert (code != "forbidden") is allowed, (name, method, code, told)
            if not allowed and rule is not None:
                assert f"rule {rule} of" in told, (name, method, told)
        if roles is not None:
            me = outcomes["whoami"][1]
            assert (me["uid"], me["gid"], set(me["roles"])) == (caller.uid, caller.gid, roles)
            assert f"rule {rule} of" in me["rule"], name


def test_nobody_else_without_a_policy_file(public: Path) -> None:
    daemon = Daemon(public / "d", XDG_CONFIG_HOME=str(public)).start()
    open_to_all(daemon)
    try:
        with daemon.client() as client:
            assert set(client.whoami()["roles"]) == ROLES
        for caller in (Caller(2002), Caller(65534), Caller(1, 0, (0,))):
            code, told = caller.call(daemon, "ping")
            assert code == "forbidden"
            assert f"uid {caller.uid}" in told
    finally:
        assert daemon.stop() == 0


def test_the_daemons_own_user_needs_a_rule_too(public: Path) -> None:
    policy = write_policy(public / "policy.toml", RULES[1:])
    running = Daemon(public / "d", BRAIN_POLICY=str(policy)).start()
    try:
        with running.client() as client, pytest.raises(Forbidden, match="uid 0 may not"):
            client.ping()
    finally:
        assert running.stop() == 0


def test_writers_keep_their_domains_scopes_and_names(served: Daemon) -> None:
    stored = Caller(2003).calls(
        served,
        ("remember", {"text": "private zebra", "domain": "w/a"}),
        ("remember", {"text": "shared zebra", "domain": "w/a", "access_scope": "t"}),
        ("remember", {"text": "zebra", "domain": "other"}),
        ("remember", {"text": "zebra", "domain": "w/a", "access_scope": "board"}),
        ("recall", {"q": "zebra"}),
    )
    assert [code for code, _ in stored] == ["ok", "ok", "forbidden", "forbidden", "ok"]
    hits = stored[-1][1]["hits"]
    assert {hit["text"] for hit in hits} == {"private zebra", "shared zebra"}
    assert {hit["owner"] for hit in hits} == {"willy"}
    assert {hit["writer"]["uid"] for hit in hits} == {2003}
    # The reader has every domain and scope, and still not what is private to another.
    _, answer = Caller(2002).call(served, "recall", q="zebra")
    assert [hit["text"] for hit in answer["hits"]] == ["shared zebra"]
    _, answer = Caller(2060, 3019).call(served, "recall", q="zebra")
    assert answer["decision"] == "empty_store"


def test_identity_is_that_of_the_moment_of_connecting(served: Daemon) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        with Client(served.socket) as first:
            first.ping()
            os.setgroups([])
            os.setgid(5000)
            os.setuid(2002)
            with Client(served.socket) as second:
                names = f"{first.whoami()['name']} {second.whoami()['name']}"
        os.write(write, names.encode())
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert os.read(read, 100) == b"root rita"
    os.close(read)
    os.close(write)


def test_who_is_not_mapped_into_the_daemons_namespace_is_refused(public: Path) -> None:
    # Of all users only root exists in there: everybody else arrives as the overflow id.
    rules = [OWN, {"uid": [1, 4294967294], "roles": ["admin"], "principal": "anybody"}]
    rules.append({"gid": [1, 4294967294], "roles": ["admin"], "principal": "anybody"})
    policy = write_policy(public / "policy.toml", rules)
    running = Daemon(public / "d", BRAIN_POLICY=str(policy))
    running.wrapper = ["unshare", "--user", "--map-root-user"]
    running.start()
    open_to_all(running)
    try:
        with running.client() as client:
            assert client.whoami()["uid"] == 0
        for caller in (Caller(2002), Caller(65533), Caller(65534), Caller(2002, 0, (0, 7))):
            code, told = caller.call(running, "whoami")
            assert code == "forbidden"
            assert "could not map" in told
    finally:
        assert running.stop() == 0


# ---- reloading


def reload(daemon: Daemon) -> None:
    """SIGHUP, then wait until the daemon has told of it in its audit log."""

    def reloads() -> int:
        return (daemon.store / "audit.log").read_text().count('"policy.reload"')

    before = reloads()
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: reloads() > before)


def test_open_connections_are_judged_anew(served: Daemon, policy: Path) -> None:
    with served.client() as client, served.client() as other:
        client.ping()
        other.remember(text="zebra")
        write_policy(policy, [{**OWN, "roles": ["reader"], "domains": ["*"], "principal": "r"}])
        reload(served)
        assert client.whoami()["name"] == "r"
        with pytest.raises(Forbidden, match="needs the role writer"):
            client.remember(text="x")
        assert not client.recall("zebra")["hits"]  # private to who the caller was
        write_policy(policy, [{"uid": 2002, "roles": ["admin"], "principal": "rita"}])
        reload(served)
        for each in (client, other):
            with pytest.raises(Forbidden, match="uid 0 may not use"):
                each.call("remember", text="x")
    assert Caller(2002).call(served, "stats")[1]["documents"] == 1


def test_one_that_is_refused_is_closed_even_when_it_says_nothing(
    public: Path, policy: Path
) -> None:
    environment = {"BRAIN_POLICY": str(policy), "BRAIN_MESSAGE_TIMEOUT_MS": "200"}
    running = Daemon(public / "d", **environment).start()
    try:
        with running.client() as client, socket.socket(socket.AF_UNIX) as idle:
            client.ping()
            idle.settimeout(30)
            idle.connect(str(running.socket))
            idle.sendall(msgpack.packb([0, 1, "ping", []]))
            assert msgpack.unpackb(idle.recv(4096))[3] == "pong"
            write_policy(policy, RULES[1:])
            reload(running)
            data = b""
            while part := idle.recv(4096):
                data += part
            assert msgpack.unpackb(data)[2]["code"] == "forbidden"
    finally:
        assert running.stop() == 0


def test_calls_under_way_end_as_they_began(served: Daemon, policy: Path) -> None:
    text = "The zebra of Marta sleeps in Lisbon. " * 20_000
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(str(served.socket))
        sock.sendall(msgpack.packb([0, 1, "remember", [{"text": text}]]))
        sock.sendall(msgpack.packb([0, 2, "policy.reload", []]))
        write_policy(policy, RULES[1:])
        unpacker = msgpack.Unpacker()
        found: dict[int, Any] = {}
        while len(found) < 2:
            unpacker.feed(sock.recv(65536))
            found |= {message[1]: message for message in unpacker}
        assert found[2][3]["rules"] in (len(RULES), len(RULES) - 1)
        assert found[1][3]["created"]


@pytest.mark.parametrize("fault", ["bad", "writable by others", "gone", "empty"])
def test_a_bad_policy_leaves_the_old_one_in_force(served: Daemon, policy: Path, fault: str) -> None:
    match fault:
        case "bad":
            policy.write_text(policy.read_text() + "[[rule]]\nuid = -1\n")
        case "writable by others":
            policy.chmod(0o666)
        case "gone":
            policy.unlink()
        case "empty":
            policy.write_text("")
    with served.client() as client:
        reload(served)
        assert client.whoami()["name"] == "root"
        with pytest.raises(BadRequest, match=str(policy)):
            client.call("policy.reload")
        (record,) = client.call("audit.list", limit=1)["records"]
        assert (record["event"], record["step"]) == ("policy.reload", "failed")
        assert record["by"] == "root"
        assert Caller(2002).call(served, "whoami")[1]["name"] == "rita"
        assert "not reloaded, all stays as it was: the policy" in served.log.read_text()
        write_policy(policy, RULES)
        assert client.call("policy.reload")["rules"] == len(RULES)


@pytest.mark.parametrize("fault", ["bad", "gone", "others'"])
def test_a_bad_policy_starts_no_open_daemon(public: Path, policy: Path, fault: str) -> None:
    match fault:
        case "bad":
            policy.write_text("version = 2")
        case "gone":
            policy.unlink()
        case "others'":
            os.chown(policy, 1234, 1234)
    running = Daemon(public / "d", BRAIN_POLICY=str(policy))
    process = running.spawn(PIPE="1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 78
    assert str(policy).encode() in errors
    assert not running.socket.exists()


def test_the_default_place_is_used(public: Path) -> None:
    folder = public / "config" / "brain-daemon"
    folder.mkdir(parents=True)
    rule = {"uid": 0, "roles": ["reader"], "principal": "from the default", "domains": ["*"]}
    write_policy(folder / "policy.toml", [rule])
    running = Daemon(public / "d", XDG_CONFIG_HOME=str(public / "config")).start()
    try:
        with running.client() as client:
            assert client.whoami()["name"] == "from the default"
    finally:
        assert running.stop() == 0


# ---- quotas and the audit log


def test_connections_of_a_principal_are_bounded_over_its_processes(
    public: Path, policy: Path
) -> None:
    limited = {**OWN, "limits.connections": 3}
    write_policy(policy, [limited, *RULES[1:]])
    running = Daemon(public / "d", BRAIN_POLICY=str(policy)).start()
    open_to_all(running)
    try:
        clients = [running.client() for _ in range(3)]
        for client in clients:
            client.ping()
        with (
            running.client() as fourth,
            pytest.raises(Overloaded, match="root has 3 connections, limit 3"),
        ):
            fourth.ping()
        assert Caller(2002).call(running, "ping") == ("ok", "pong")
        clients.pop().close()
        with running.client() as again:
            wait_until(lambda: _pings(again))
        for client in clients:
            client.close()
    finally:
        assert running.stop() == 0


def _pings(client: Client) -> bool:
    try:
        return bool(client.ping() == "pong")
    except (Overloaded, ConnectionLost):
        return False


def test_refusals_and_deeds_are_told_and_the_log_is_whole_after_a_kill(served: Daemon) -> None:
    with served.client() as client:
        chunk_id = client.remember(text="zebra")["chunk_ids"][0]
        Caller(2006).call(served, "recall", q="zebra")
        Caller(2002).call(served, "forget", id=chunk_id)
        client.forget(id=chunk_id)
        noted = client.audit_verify()
        assert noted["ok"]
    served.kill()
    served.start()
    with served.client() as client:
        answer = client.audit_verify(head=noted["head"])
        assert (answer["ok"], answer["findings"]) == (True, [])
        records = client.audit_list(after=0, limit=100)["records"]
    told = [(r["event"], r.get("method"), r.get("uid")) for r in records]
    assert told == [
        ("daemon.start", None, None),
        ("denied", "connect", 2006),
        ("denied", "forget", 2002),
        ("forget", None, 0),
        ("daemon.start", None, None),
    ]
    assert records[3]["chunk_ids"] == [chunk_id]
    assert "zebra" not in (served.store / "audit.log").read_text()


def test_a_client_that_hammers_is_answered_and_fills_no_disk(served: Daemon) -> None:
    calls = [("recall", {"q": "x"})] * 300
    for caller in (Caller(2006), Caller(2001), Caller(2050, 3004)):
        outcomes = caller.calls(served, *calls)
        assert {code for code, _ in outcomes} == {"forbidden"}
    with served.client() as client:
        records = client.audit_list(after=0, limit=1000)["records"]
    assert len([r for r in records if r["event"] == "denied"]) == 30
    assert (served.store / "audit.log").stat().st_size < 30_000

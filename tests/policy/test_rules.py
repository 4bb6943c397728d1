"""First match wins, default deny, and who stands for everybody is never let in."""

import os
import pwd
from typing import Any

import pytest

from brain_daemon.errors import Forbidden
from brain_daemon.model import PeerCredentials, Quota
from brain_daemon.policy import rules
from brain_daemon.policy.rules import INVALID_ID, Policy, Rule, unmapped_ids

READER = frozenset({"reader"})
SOURCE = "/etc/x/policy.toml"


def peer(uid: int, gid: int = 5000, *groups: int) -> PeerCredentials:
    return PeerCredentials(1, uid, gid, groups)


def rule(number: int, kind: Any, low: int, high: int | None = None, **options: Any) -> Rule:
    given = {"roles": READER, "principal": "p", **options}
    return Rule(number, f"{kind} {low}", kind, low, low if high is None else high, **given)


def test_the_first_rule_that_fits_decides() -> None:
    given = (
        rule(1, "uid", 1000, principal="first"),
        rule(2, "gid", 70, principal="group"),
        rule(3, "uid", 1000, 2000, principal="range"),
    )
    policy = Policy(given, SOURCE)
    assert policy.admit(peer(1000, 5000, 70)).name == "first"
    assert policy.admit(peer(1001, 5000, 70)).name == "group"
    assert policy.admit(peer(1001, 70)).name == "group"  # the primary group is one of them
    assert policy.admit(peer(1001)).name == "range"
    assert Policy(given[::-1], SOURCE).admit(peer(1000, 70)).name == "range"


@pytest.mark.parametrize(("uid", "fits"), [(999, False), (1000, True), (2000, True), (2001, False)])
def test_both_ends_of_a_range_are_in_it(uid: int, fits: bool) -> None:
    assert (Policy((rule(1, "uid", 1000, 2000),), SOURCE).find(peer(uid)) is not None) is fits


def test_whom_no_rule_fits_is_refused_and_told_why() -> None:
    with pytest.raises(Forbidden, match=f"uid 7 .*none of the 1 rules of {SOURCE}") as caught:
        Policy((rule(1, "uid", 8),), SOURCE).admit(peer(7))
    assert caught.value.detail == {"uid": 7}


def test_no_rules_let_nobody_in() -> None:
    for uid in (0, os.geteuid(), 1000):
        with pytest.raises(Forbidden):
            Policy((), SOURCE).admit(peer(uid))


def test_a_rule_without_roles_refuses_whom_a_later_one_would_let_in() -> None:
    policy = Policy((rule(1, "gid", 70, roles=frozenset()), rule(2, "uid", 0, 9999)), SOURCE)
    with pytest.raises(Forbidden, match=r"rule 1 of .*\(gid 70\) refuses uid 5"):
        policy.admit(peer(5, 70))
    assert policy.admit(peer(5)).name == "p"


@pytest.mark.parametrize("uid", [65534, INVALID_ID])
def test_who_could_not_be_mapped_is_refused_whatever_the_rules_say(uid: int) -> None:
    policy = Policy((rule(1, "uid", 0, 2**32 - 1), rule(2, "gid", 0, 2**32 - 1)), SOURCE)
    assert policy.admit(peer(uid - 1)).name == "p"
    assert policy.find(peer(uid)) is None
    with pytest.raises(Forbidden, match="could not map"):
        policy.admit(peer(uid))


@pytest.mark.parametrize("gid", [65534, INVALID_ID])
def test_a_group_that_could_not_be_mapped_fits_no_rule(gid: int) -> None:
    policy = Policy((rule(1, "gid", 60000, 2**32 - 2),), SOURCE)
    assert policy.find(peer(7, 65533)) is not None
    assert policy.find(peer(7, gid)) is None
    assert policy.find(peer(7, 5, gid)) is None


def test_the_kernels_own_overflow_id_is_one_of_them() -> None:
    with open("/proc/sys/kernel/overflowuid", encoding="ascii") as file:  # noqa: PTH123
        assert int(file.read()) in unmapped_ids("uid")
    assert {65534, INVALID_ID} <= unmapped_ids("uid") & unmapped_ids("gid")


def test_user_and_uid_are_filled_in() -> None:
    made = rule(1, "uid", 0, 9999, principal="user:{user}:{uid}", domains=("u/{uid}/*", "{user}"))
    principal = Policy((made,), SOURCE).admit(peer(1))
    name = pwd.getpwuid(1).pw_name
    assert principal.name == f"user:{name}:1"
    assert principal.domains == ("u/1/*", name)


@pytest.mark.parametrize("name", ["a/b", "bob*", "a b", "", "-x", "a\n", "a{uid}", None])
def test_a_name_that_would_mean_more_than_a_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    policy = Policy((rule(1, "uid", 7, principal="u", domains=("user/{user}/*",)),), SOURCE)
    policy._names[7] = name
    with pytest.raises(Forbidden, match=r"rule 1 .*use \{uid\}"):
        policy.admit(peer(7))
    by_uid = Policy((rule(1, "uid", 7, principal="{uid}"),), SOURCE)
    by_uid._names[7] = name
    assert by_uid.admit(peer(7)).name == "7"


def test_names_are_asked_for_only_where_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(rules, "_user_name", lambda uid: asked.append(uid) or "alice")
    Policy((rule(1, "uid", 7, principal="{uid}"),), SOURCE).admit(peer(7))
    assert not asked
    policy = Policy((rule(1, "uid", 7, principal="{user}"),), SOURCE)
    assert [policy.admit(peer(7)).name for _ in range(3)] == ["alice"] * 3
    assert asked == [7]


@pytest.mark.parametrize("name", ["alice", "alice.smith", "svc_1$", "Ána", "a@example.org", "_x"])
def test_plain_names_are_taken(name: str) -> None:
    policy = Policy((rule(1, "uid", 7, principal="{user}"),), SOURCE)
    policy._names[7] = name
    assert policy.admit(peer(7)).name == name


def test_a_principal_carries_what_the_rule_gives_and_names_it() -> None:
    made = rule(4, "uid", 7, domains=("d",), scopes=("s",), quota=Quota(1, 2, 3))
    principal = Policy((made,), SOURCE).admit(peer(7, 8))
    assert (principal.uid, principal.gid, principal.pid) == (7, 8, 1)
    assert (principal.domains, principal.scopes, principal.quota) == (
        ("d",),
        ("s",),
        Quota(1, 2, 3),
    )
    assert principal.rule == f"rule 4 of {SOURCE} (uid 7)"


def test_without_a_file_the_own_user_may_do_everything_and_nobody_else_anything() -> None:
    policy = Policy.of_own_user()
    own = policy.admit(peer(os.geteuid()))
    assert own.roles == {"reader", "writer", "operator", "admin"}
    assert (own.domains, own.scopes) == (("*",), ("*",))
    assert "no policy file" in own.rule
    for uid in {0, os.geteuid() + 1, 65534} - {os.geteuid()}:
        with pytest.raises(Forbidden, match=f"uid {uid} "):
            policy.admit(peer(uid, os.getegid(), *os.getgroups()))


def test_a_closed_policy_lets_nobody_in_and_says_why() -> None:
    with pytest.raises(Forbidden, match=r"nobody may use .*: it is not TOML"):
        Policy.closed("it is not TOML").admit(peer(os.geteuid()))

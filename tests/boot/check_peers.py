"""Who calls is known through the sandbox, and who may not connect cannot."""

from pathlib import Path

import pytest

from tests.boot import machine

POLICY = Path("/etc/brain-daemon/policy.toml")
RULE = """
version = 1
[[rule]]
{selector}
principal = "user:{{user}}"
roles = ["reader"]
domains = ["shared"]
"""


def uid_of(user: str) -> str:
    return machine.run("id", "--user", user).strip()


def test_daemons_own_user_is_known() -> None:
    found = machine.brain("whoami")
    assert (found["name"], str(found["uid"])) == (machine.USER, uid_of(machine.USER))


@pytest.mark.parametrize("user", ["alice", "root"])
def test_other_callers_are_told_apart(user: str) -> None:
    """Nobody but the daemon's own user may do anything, and the refusal names whom it saw."""
    assert f"uid {uid_of(user)} " in machine.brain("ping", user=user, check=False)


def test_who_is_not_in_the_group_cannot_connect() -> None:
    assert "you may not connect" in machine.brain("ping", user="bob", check=False)


def test_policy_knows_users_and_groups_through_the_sandbox() -> None:
    machine.brain("ping")
    try:
        POLICY.write_text(RULE.format(selector='user = "alice"'))
        machine.systemctl("reload", machine.SERVICE)
        found = machine.brain("whoami", user="alice")
        assert (found["name"], str(found["uid"])) == ("user:alice", uid_of("alice"))
        POLICY.write_text(RULE.format(selector='user = "nobody-of-that-name"'))
        with pytest.raises(AssertionError, match="failed"):
            machine.systemctl("reload", machine.SERVICE)
        assert machine.brain("whoami", user="alice")["name"] == "user:alice"  # the old one holds
        POLICY.write_text(RULE.format(selector='group = "brain-clients"'))
        machine.systemctl("reload", machine.SERVICE)
        assert machine.brain("whoami", user="alice")["name"] == "user:alice"
    finally:
        POLICY.unlink()
        machine.systemctl("restart", machine.SERVICE)  # a reload minds that it is gone
    assert f"uid {uid_of('alice')} " in machine.brain("ping", user="alice", check=False)


def test_with_private_users_all_callers_look_alike() -> None:
    """The trap that the unit avoids."""
    with machine.drop_in("[Service]\nPrivateUsers=yes\n"):
        assert "uid 65534 " in machine.brain("ping", user="alice", check=False)

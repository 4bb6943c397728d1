"""Who gets in, how often, and what a reload changes."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brain_daemon.audit.log import AuditLog
from brain_daemon.errors import BadRequest, Forbidden, Overloaded
from brain_daemon.model import PeerCredentials, Quota
from brain_daemon.policy.rules import Policy, Rule
from brain_daemon.service.admission import Admission

READER = frozenset({"reader"})


def peer(uid: int) -> PeerCredentials:
    return PeerCredentials(9, uid, uid, ())


def policy_of(*uids: int, principal: str = "{uid}", **quota: int) -> Policy:
    rules = tuple(
        Rule(n, f"uid {uid}", "uid", uid, uid, READER, principal, quota=Quota(**quota))
        for n, uid in enumerate(uids, 1)
    )
    return Policy(rules, "/p.toml")


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[AuditLog]:
    opened = AuditLog(tmp_path / "audit.log")
    yield opened
    opened.close()


def admitting(
    audit: AuditLog, policy: Policy, load: Callable[[], Policy] = Policy.of_own_user
) -> Admission:
    admission = Admission(policy, load)
    admission.audit = audit
    return admission


def test_a_principal_has_so_many_connections_over_all_its_users(audit: AuditLog) -> None:
    admission = admitting(audit, policy_of(1, 2, principal="both", connections=2))
    first = admission.admit(peer(1))
    admission.admit(peer(2))
    with pytest.raises(Overloaded, match=r"both has 2 connections, limit 2 \(rule 1") as caught:
        admission.admit(peer(1))
    assert caught.value.detail["retry_after_ms"] > 0
    admission.leave(first)
    assert admission.connections(first) == 1
    admission.admit(peer(1))


def test_one_principals_connections_are_not_anothers(audit: AuditLog) -> None:
    admission = admitting(audit, policy_of(1, 2, connections=1))
    admission.admit(peer(1))
    admission.admit(peer(2))
    with pytest.raises(Overloaded):
        admission.admit(peer(2))


def test_counts_of_who_is_gone_are_not_kept(audit: AuditLog) -> None:
    admission = admitting(audit, policy_of(*range(1, 50)))
    for uid in range(1, 50):
        admission.leave(admission.admit(peer(uid)))
    assert not admission._connections


def test_a_refusal_is_told_to_the_audit_log(audit: AuditLog) -> None:
    admission = admitting(audit, policy_of(1))
    with pytest.raises(Forbidden):
        admission.admit(peer(7))
    (record,) = audit.page(0, 9)
    told = (record["event"], record["uid"], record["pid"], record["method"])
    assert told == ("denied", 7, 9, "connect")
    assert "none of the 1 rules" in record["reason"]


def test_a_reload_puts_the_new_policy_in_place_and_judges_anew(audit: AuditLog) -> None:
    policies = [policy_of(1), policy_of(2)]
    admission = admitting(audit, policies.pop(0), lambda: policies.pop(0))
    judged: list[str] = []
    admission.readmit = lambda: judged.append(str(admission.policy.rules[0].low))
    admission.admit(peer(1))
    admission.reload()
    assert judged == ["2"]  # the new one was in force by then
    with pytest.raises(Forbidden):
        admission.admit(peer(1))
    admission.admit(peer(2))
    assert audit.page(0, 9)[0]["event"] == "policy.reload"
    assert audit.page(0, 9)[0]["step"] == "done"


def test_a_bad_policy_changes_nothing_and_is_told(audit: AuditLog) -> None:
    def load() -> Policy:
        raise BadRequest("rule 2: it is bad")

    admission = admitting(audit, policy_of(1), load)
    judged: list[int] = []
    admission.readmit = lambda: judged.append(1)
    before = admission.policy
    with pytest.raises(BadRequest, match="rule 2"):
        admission.reload()
    assert admission.policy is before
    assert not judged
    (record,) = audit.page(0, 9)
    assert (record["step"], record["reason"]) == ("failed", "rule 2: it is bad")


def test_a_policy_that_is_gone_does_not_give_way_to_none(audit: AuditLog) -> None:
    policies = [policy_of(1), Policy.of_own_user()]
    admission = admitting(audit, policies.pop(0), lambda: policies.pop(0))
    with pytest.raises(BadRequest, match=r"/p\.toml is gone: put it back, or restart"):
        admission.reload()
    admission.admit(peer(1))


def test_a_policy_may_come_where_none_was(audit: AuditLog) -> None:
    policies = [Policy.of_own_user(), policy_of(1)]
    admission = admitting(audit, policies.pop(0), lambda: policies.pop(0))
    assert admission.reload().source == "/p.toml"
    admission.admit(peer(1))


def test_a_reload_that_cannot_be_told_is_not_done(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = [policy_of(1), policy_of(2)]
    admission = admitting(audit, policies.pop(0), lambda: policies.pop(0))
    monkeypatch.setattr(audit, "_write", lambda data: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(Exception, match=re.escape("audit log")):
        admission.reload()
    admission.admit(peer(1))

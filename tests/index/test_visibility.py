import numpy as np
import pytest
from msgspec.structs import replace

from brain_daemon.index.rows import Attributes, Rows
from brain_daemon.index.visibility import EVERYTHING, Filters, VisibilityCache, matches
from brain_daemon.model import Principal, Tags
from tests.index.stores import ALICE, BOB, NOW_US

TAGS = Tags(owner="alice", created_at_us=NOW_US - 100)


def rows_of(*tags: Tags, flagged: tuple[int, ...] = ()) -> Rows:
    return Rows.empty().append(
        [Attributes(10 + i, tag, 5, i in flagged) for i, tag in enumerate(tags)]
    )


def seen(
    rows: Rows, principal: Principal = ALICE, filters: Filters = EVERYTHING, now_us: int = NOW_US
) -> list[int]:
    visible = VisibilityCache().visible(rows, principal, filters, now_us)
    assert visible.n_visible == visible.mask.sum()
    return np.flatnonzero(visible.mask).tolist()


def test_no_rows() -> None:
    assert seen(Rows.empty()) == []


def test_private_rows_are_their_owners() -> None:
    rows = rows_of(TAGS, replace(TAGS, owner="bob"), replace(TAGS, owner=""))
    assert seen(rows) == [0]
    assert seen(rows, BOB) == [1]


def test_other_scopes_are_for_those_who_have_them() -> None:
    rows = rows_of(
        TAGS,
        replace(TAGS, access_scope="shared"),
        replace(TAGS, access_scope="team.red"),
        replace(TAGS, access_scope="team.blue"),
    )
    assert seen(rows, BOB) == [1, 2, 3]
    assert seen(rows, replace(BOB, scopes=("shared",))) == [1]
    assert seen(rows, replace(BOB, scopes=("team.*",))) == [2, 3]
    assert seen(rows, replace(ALICE, scopes=())) == [0]


def test_private_is_not_granted_as_a_scope() -> None:
    assert seen(rows_of(TAGS), replace(BOB, scopes=("private", "*"))) == []


def test_domains_of_principal_and_request_both_hold() -> None:
    rows = rows_of(*(replace(TAGS, domain=name) for name in ("a", "a.b", "a.b.c", "z")))
    assert seen(rows, filters=Filters(domain="a")) == [0]
    assert seen(rows, filters=Filters(domain="a.*")) == [1, 2]
    assert seen(rows, filters=Filters(domain="nowhere")) == []
    few = replace(ALICE, domains=("a.b*", "z"))
    assert seen(rows, few) == [1, 2, 3]
    assert seen(rows, few, Filters(domain="a*")) == [1, 2]
    assert seen(rows, replace(ALICE, domains=())) == []


def test_sources_and_kinds() -> None:
    rows = rows_of(
        TAGS, replace(TAGS, source="vault"), replace(TAGS, source="manual", node_kind="fact")
    )
    assert seen(rows, filters=Filters(sources=("manual", "vault"))) == [1, 2]
    assert seen(rows, filters=Filters(sources=("structured",))) == []
    assert seen(rows, filters=Filters(node_kind="fact")) == [2]
    assert seen(rows, filters=Filters(node_kind="rule")) == []


def test_creation_times_are_half_open() -> None:
    rows = rows_of(*(replace(TAGS, created_at_us=at) for at in (1, 2, 3)))
    assert seen(rows, filters=Filters(since_us=2)) == [1, 2]
    assert seen(rows, filters=Filters(until_us=2)) == [0]
    assert seen(rows, filters=Filters(since_us=2, until_us=3)) == [1]


def test_expiry_is_strict_at_the_instant() -> None:
    rows = rows_of(replace(TAGS, expires_at_us=NOW_US), TAGS)
    assert seen(rows, now_us=NOW_US - 1) == [0, 1]
    assert seen(rows, now_us=NOW_US) == [1]
    assert seen(rows, filters=Filters(include_decayed=True)) == [0, 1]


def test_flagged_rows_are_never_seen() -> None:
    rows = rows_of(TAGS, TAGS, flagged=(0,))
    assert seen(rows, filters=Filters(include_decayed=True)) == [1]


def test_a_release_reaches_a_mask_that_is_cached() -> None:
    rows, cache = rows_of(TAGS, TAGS, flagged=(0,)), VisibilityCache()
    assert cache.visible(rows, ALICE, EVERYTHING, NOW_US).mask.tolist() == [0, 1]
    released = rows.release(np.array([0]))
    assert cache.visible(released, ALICE, EVERYTHING, NOW_US).mask.tolist() == [1, 1]
    assert (rows.n_alive, rows.n_flagged) == (1, 1)
    assert (released.n_alive, released.n_flagged, released.total_length) == (2, 0, 10)


def test_what_comes_into_quarantine_leaves_a_mask_that_is_cached() -> None:
    rows, cache = rows_of(TAGS, TAGS), VisibilityCache()
    assert cache.visible(rows, ALICE, EVERYTHING, NOW_US).mask.tolist() == [1, 1]
    held = rows.hold(np.array([0]))
    assert cache.visible(held, ALICE, EVERYTHING, NOW_US).mask.tolist() == [0, 1]
    assert (held.n_alive, held.n_flagged, held.total_length) == (1, 1, 5)
    assert held.release(np.array([0])).alive.tolist() == [1, 1]


def test_flagged_rows_are_held_until_they_are_removed() -> None:
    rows = rows_of(TAGS, TAGS, TAGS, flagged=(0, 2))
    assert rows.find([10, 11, 12]).tolist() == [0, 1, 2]
    left = rows.remove(np.array([0, 1]))
    assert left.held.tolist() == [0, 0, 1]
    assert (left.n_alive, left.n_flagged, left.total_length) == (0, 1, 0)


def test_dead_rows_are_never_seen() -> None:
    rows = rows_of(TAGS, TAGS, TAGS)
    assert seen(rows.remove(np.array([1]))) == [0, 2]


def test_the_cache_ends_at_the_next_expiry_and_holds_no_longer_than_time_runs_forward() -> None:
    rows = rows_of(replace(TAGS, expires_at_us=NOW_US + 10), replace(TAGS, expires_at_us=NOW_US))
    cache = VisibilityCache()

    def at(now_us: int) -> list[int]:
        return cache.visible(rows, ALICE, EVERYTHING, now_us).mask.tolist()

    assert at(NOW_US) == [1, 0]
    assert at(NOW_US + 9) == [1, 0]
    assert at(NOW_US + 10) == [0, 0]
    assert at(NOW_US - 1) == [1, 1]


def test_a_cached_mask_follows_the_rows() -> None:
    cache = VisibilityCache()
    older = rows_of(TAGS, replace(TAGS, owner="bob"))
    first = cache.visible(older, ALICE, EVERYTHING, NOW_US)
    assert cache.visible(older, ALICE, EVERYTHING, NOW_US + 1) is first
    newer = older.append(
        [
            Attributes(20, TAGS, 5),
            Attributes(21, replace(TAGS, owner="bob"), 5),
            Attributes(22, replace(TAGS, expires_at_us=NOW_US + 5), 5),
        ]
    )
    newest = newer.remove(np.array([0]))
    assert cache.visible(newer, ALICE, EVERYTHING, NOW_US).mask.tolist() == [1, 0, 1, 0, 1]
    assert cache.visible(newest, ALICE, EVERYTHING, NOW_US).mask.tolist() == [0, 0, 1, 0, 1]
    assert cache.visible(newest, ALICE, EVERYTHING, NOW_US + 5).mask.tolist() == [0, 0, 1, 0, 0]
    assert cache.visible(older, ALICE, EVERYTHING, NOW_US).mask.tolist() == [1, 0]
    assert cache.visible(newest, BOB, EVERYTHING, NOW_US).mask.tolist() == [0, 1, 0, 1, 0]


def test_the_cache_is_bounded_and_stays_right() -> None:
    rows = rows_of(*(replace(TAGS, domain=f"d{i}") for i in range(40)))
    cache = VisibilityCache()
    for _ in range(2):
        for i in range(40):
            visible = cache.visible(rows, ALICE, Filters(domain=f"d{i}"), NOW_US)
            assert np.flatnonzero(visible.mask).tolist() == [i]
    assert len(cache) <= 16


@pytest.mark.parametrize(
    ("pattern", "label", "expected"),
    [("*", "", True), ("a", "a", True), ("a", "ab", False), ("a*", "ab", True), ("a*", "b", False)],
)
def test_patterns(pattern: str, label: str, expected: bool) -> None:
    assert matches(pattern, label) is expected

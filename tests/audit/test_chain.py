"""Every way of tampering that the chain can show is shown; what it cannot is told here, too."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.audit import chain
from brain_daemon.audit.chain import START, Head, decode, encode, verify


def lines(n: int) -> list[bytes]:
    head, made = START, []
    for number in range(n):
        line, head = encode(head, {"event": "forget", "ids": [number]})
        made.append(line)
    return made


LOG = lines(6)


def forged(changed: int) -> list[bytes]:
    """A log of which one record was changed and every later one was made anew."""
    head, made = START, []
    for number in range(6):
        line, head = encode(head, {"event": "forget", "ids": [number if number != changed else 77]})
        made.append(line)
    return made


def test_a_line_is_json_and_its_hash_can_be_made_with_any_tool() -> None:
    import hashlib

    record = json.loads(LOG[1])
    assert record["seq"] == 2
    assert record["prev"] == json.loads(LOG[0])["hash"]
    before, _, _ = LOG[1].partition(b',"hash"')
    assert record["hash"] == hashlib.sha256(before).hexdigest()


def test_a_whole_log_is_whole() -> None:
    verdict = verify(LOG)
    assert (verdict.findings, verdict.records, verdict.head.seq) == ([], 6, 6)
    assert verify([]).head == START
    for n in range(7):
        assert not verify(LOG[:n]).findings  # what a shorter log was, so it cannot tell by itself


@pytest.mark.parametrize("changed", range(6))
def test_a_changed_line_is_found(changed: int) -> None:
    log = [*LOG]
    log[changed] = log[changed].replace(b'"ids":[', b'"ids":[9')
    assert f"line {changed + 1} (record {changed + 1}) was changed" in verify(log).findings[0]


@pytest.mark.parametrize("changed", range(5))
def test_a_changed_line_with_its_hash_made_anew_is_found_by_the_next(changed: int) -> None:
    log = [*LOG]
    log[changed] = forged(changed)[changed]
    assert f"line {changed + 2} (record {changed + 2}) does not follow" in verify(log).findings[0]


@pytest.mark.parametrize("gone", range(5))
def test_a_line_taken_out_is_found(gone: int) -> None:
    assert "taken out" in verify(LOG[:gone] + LOG[gone + 1 :]).findings[0]


@pytest.mark.parametrize("place", range(6))
def test_a_line_put_in_or_written_twice_is_found(place: int) -> None:
    for extra in (LOG[place], encode(START, {"event": "x"})[0], b"\n", b"{}\n", b"no json\n"):
        assert verify([*LOG[: place + 1], extra, *LOG[place + 1 :]]).findings


@pytest.mark.parametrize(("a", "b"), [(0, 1), (2, 3), (0, 5), (4, 5)])
def test_lines_that_were_moved_are_found(a: int, b: int) -> None:
    log = [*LOG]
    log[a], log[b] = log[b], log[a]
    assert verify(log).findings


@given(place=st.integers(0, sum(map(len, LOG)) - 1), bit=st.integers(0, 7))
def test_every_flipped_bit_is_found(place: int, bit: int) -> None:
    data = bytearray(b"".join(LOG))
    data[place] ^= 1 << bit
    assert verify(bytes(data).splitlines(keepends=True)).findings


@pytest.mark.parametrize("left", range(6))
def test_a_noted_head_shows_what_was_cut_off(left: int) -> None:
    head = verify(LOG).head
    assert not verify(LOG, head).findings
    assert f"{6 - left} were cut off" in verify(LOG[:left], head).findings[-1]


@pytest.mark.parametrize("changed", range(6))
def test_a_noted_head_shows_a_log_written_anew_which_the_chain_alone_cannot(changed: int) -> None:
    assert not verify(forged(changed)).findings
    assert "written anew" in verify(forged(changed), verify(LOG).head).findings[0]


def test_a_head_noted_earlier_holds_while_the_log_grows() -> None:
    assert not verify(lines(9), verify(LOG).head).findings
    assert verify(lines(9), Head(6, "0" * 64)).findings


@pytest.mark.parametrize("cut", [1, 20, len(LOG[2]) - 2])
def test_a_line_that_a_crash_cut_short_is_no_finding_once_the_next_one_says_so(cut: int) -> None:
    import hashlib

    torn = LOG[2][:cut]
    head = verify(LOG[:2]).head
    told, _ = encode(head, {"torn_sha256": [hashlib.sha256(torn).hexdigest()]})
    assert not verify([*LOG[:2], torn + b"\n", told]).findings
    assert "line 3 is no record" in verify([*LOG[:2], torn + b"\n", LOG[2]]).findings[0]
    assert "last line is no record" in verify([*LOG[:2], torn]).findings[0]


def test_findings_are_bounded() -> None:
    assert len(verify([LOG[0], b"x\n"] * 1000).findings) == chain.MAX_FINDINGS


@pytest.mark.parametrize(
    "line",
    [b"", b"[]", b"5", b'{"seq":"1","prev":""}', b'{"seq":1}', b"\xff", b"[" * 9999, b'{"seq":1,']
)  # fmt: skip
def test_what_is_no_record_is_no_exception(line: bytes) -> None:
    assert decode(line) is None


@given(st.dictionaries(st.text(max_size=9), st.text() | st.integers(), max_size=4))
def test_any_text_in_a_field_stays_one_line_and_is_read_back(fields: dict[str, Any]) -> None:
    fields = {f"x{name}": value for name, value in fields.items()}
    line, head = encode(START, fields)
    assert line.count(b"\n") == 1
    decoded = decode(line)
    assert decoded is not None
    assert decoded[1]
    assert {name: decoded[0][name] for name in fields} == fields
    assert verify([line]).head == head

"""What must hold for any bytes at all: one function for each target of the fuzzer.

Each takes bytes, and raises if they break a promise. `tests/fuzz/run.py` drives them with coverage
for a guide; `test_corpus.py` replays what that has found.
"""

from collections.abc import Callable
from typing import Any

import msgpack
import msgspec

from brain_daemon.errors import BrainError, to_wire
from brain_daemon.params import decode
from brain_daemon.protocol.framing import INCOMPLETE, LARGE, Framer, FramingLost, Undecodable
from brain_daemon.protocol.messages import Encoder, Malformed, malformed_from, parse_call
from brain_daemon.service.dispatch import OPERATIONS
from tests.fuzz.test_scanner import agree

MAX_BYTES, MAX_DEPTH, MAX_ITEMS = 4096, 16, 512
OVERFLOWING = b"\xc9\xff\xff\xff\xff"  # msgpack adds the type's byte to it in 32 bits
encoder = Encoder()


def scanner(data: bytes) -> None:
    """Messages end where msgpack says, however they arrive, and are what msgpack makes of them.

    The first byte says where the rest is cut.
    """
    step, stream = (data[0] if data else 0) + 1, data[1:]
    if OVERFLOWING not in stream:
        agree(stream, [])
        agree(stream, list(range(0, len(stream), step)))
    at_once = outcomes(stream, len(stream) or 1, MAX_ITEMS)
    assert outcomes(stream, step, MAX_ITEMS) == at_once
    assert outcomes(stream, step, 0) == at_once  # decoded in slices


def outcomes(stream: bytes, step: int, max_items_at_once: int) -> list[str]:
    framer = Framer(MAX_BYTES, MAX_DEPTH, MAX_ITEMS, max_items_at_once)
    found = []
    for start in range(0, len(stream), step):
        framer.feed(stream[start : start + step])
        while True:
            try:
                message = framer.next()
                if message is LARGE:
                    *_, message = framer.slices()
            except Undecodable as error:
                found.append(f"undecodable {error.kind} {error.msgid}")
                continue
            except FramingLost as error:
                return [*found, f"lost {error.error.code}"]
            if message is INCOMPLETE:
                break
            found.append(repr(message))
    return found


def requests(data: bytes) -> None:
    """Whatever arrives becomes sound parameters of a known method, or an error that can be sent."""
    framer = Framer(MAX_BYTES, MAX_DEPTH, MAX_ITEMS)
    framer.feed(data)
    while True:
        try:
            message = framer.next()
            if message is INCOMPLETE:
                return
            serve(message)
        except Undecodable as error:
            malformed = malformed_from(error)
            check_error(malformed.msgid, malformed.error)
        except Malformed as malformed:
            check_error(malformed.msgid, malformed.error)
        except FramingLost as error:
            check_error(None, error.error)
            return


def serve(message: Any) -> None:
    msgid, method, params = parse_call(message)
    operation = OPERATIONS.get(method)
    if operation is None:
        return
    try:
        decoded = decode(params, operation.params)
    except BrainError as error:
        check_error(msgid, error)
        return
    again = decode(msgspec.to_builtins(decoded, str_keys=True), operation.params)
    assert msgspec.json.encode(again) == msgspec.json.encode(decoded)


def check_error(msgid: int | None, error: BrainError) -> None:
    sent = msgpack.unpackb(encoder.response(msgid, to_wire(error), None))
    assert sent[1] == msgid
    assert sent[2]["code"] in ("bad_request", "too_large"), sent
    assert 0 < len(sent[2]["message"]) < 4000, sent


TARGETS: dict[str, Callable[[bytes], None]] = {"scanner": scanner, "requests": requests}

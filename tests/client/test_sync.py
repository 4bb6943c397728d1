import socket
import threading
from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.client.methods import REPEATABLE, Methods
from brain_daemon.errors import (
    BadRequest,
    ConnectionLost,
    DeadlineExceeded,
    Forbidden,
    InternalError,
    NotFound,
    Overloaded,
    TooLarge,
)
from brain_daemon.protocol.framing import Limits
from tests.client.peers import Scripted, answer, close, read_and_close, read_requests
from tests.protocol.serving import Serving, wait_until


def test_call(serving: Serving) -> None:
    with Client(serving.path) as client:
        assert client.ping() == "pong"
        assert client.call("echo", a=1, method="x") == {"a": 1, "method": "x"}
        with pytest.raises(NotFound, match="no such thing") as caught:
            client.call("fail", **{"with": "not_found"})
        assert caught.value.detail == {"id": 5, "request": "1-3"}
        with pytest.raises(InternalError):
            client.call("fail", **{"with": "value"})
        with pytest.raises(BadRequest):
            client.call("echo", n=2**70)
        assert client.ping() == "pong"
    assert serving.server.n_connections <= 1


def test_connects_by_itself_and_again_after_close(serving: Serving) -> None:
    client = Client(serving.path)
    assert client.ping() == "pong"
    client.close()
    wait_until(lambda: serving.server.n_connections == 0)
    assert client.ping() == "pong"
    client.close()


def test_the_default_path_is_the_environments(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAIN_SOCKET", str(serving.path))
    with Client() as client:
        assert client.ping() == "pong"


def test_pipeline_keeps_the_order_and_gives_errors_in_place(serving: Serving) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("later", {"i": 0}),
        ("ping", {}),
        ("fail", {"with": "not_found"}),
        ("echo", {"n": 2**70}),
        ("later", {"i": 4}),
    ]
    with Client(serving.path) as client:
        found = list(client.pipeline(calls, in_flight=2))
        assert found[:2] == [{"i": 0}, "pong"]
        assert [type(item) for item in found[2:4]] == [NotFound, BadRequest]
        assert found[4] == {"i": 4}
        assert list(client.pipeline([])) == []


def test_pipeline_takes_calls_as_they_can_be_sent(serving: Serving) -> None:
    taken: list[int] = []

    def calls() -> Any:
        for i in range(100):
            taken.append(i)
            yield "echo", {"i": i}

    with Client(serving.path) as client:
        for i, item in enumerate(client.pipeline(calls(), in_flight=8)):
            assert item == {"i": i}
            assert len(taken) <= i + 8
            if i == 3:
                assert client.ping() == "pong"  # a call between may overtake it


def test_a_pipeline_larger_than_all_buffers_does_not_deadlock(tmp_path: Path) -> None:
    limits = Limits(max_unsent_bytes=4096)
    with Serving(tmp_path / "s", limits), Client(tmp_path / "s") as client:
        calls = (("echo", {"x": "y" * 50_000}) for _ in range(200))
        found = list(client.pipeline(calls, in_flight=200))
    assert [len(item["x"]) for item in found] == [50_000] * 200


def test_a_late_answer_is_never_mistaken_for_another(serving: Serving) -> None:
    with Client(serving.path, timeout_s=0.05) as client:
        with pytest.raises(DeadlineExceeded, match="hold"):
            client.call("hold")
        wait_until(lambda: len(serving.held) == 1)
        serving.resolve(0, "late")
        assert serving.pings()  # so the late answer is on its way before the next call
        client.timeout_s = 30
        assert client.call("echo", i=1) == {"i": 1}
        assert client._core.pending == {}


def test_a_peer_that_does_not_read_meets_the_deadline(tmp_path: Path) -> None:
    released = threading.Event()

    def stall(sock: socket.socket) -> None:
        assert released.wait(30)

    with Scripted(tmp_path / "s", stall, answer), Client(tmp_path / "s", timeout_s=0.05) as client:
        with pytest.raises(DeadlineExceeded):
            client.remember("x" * 5_000_000)
        released.set()
        client.timeout_s = 30
        assert client.ping() == "ping"


def test_a_read_whose_answer_was_lost_is_repeated(tmp_path: Path) -> None:
    with Scripted(tmp_path / "s", read_and_close, answer), Client(tmp_path / "s") as client:
        assert client.recall("x") == "recall"


def test_a_read_is_repeated_only_once(tmp_path: Path) -> None:
    script = (read_and_close, read_and_close, answer)
    with Scripted(tmp_path / "s", *script), Client(tmp_path / "s") as client:
        with pytest.raises(ConnectionLost) as caught:
            client.recall("x")
        assert "may have been carried out" not in caught.value.message
        assert client.ping() == "ping"


def test_a_write_whose_answer_was_lost_is_not_repeated(tmp_path: Path) -> None:
    with Scripted(tmp_path / "s", read_and_close, answer), Client(tmp_path / "s") as client:
        with pytest.raises(ConnectionLost, match="may have been carried out"):
            client.remember("x")
        assert client.ping() == "ping"


def test_a_write_that_was_never_sent_is_repeated(tmp_path: Path) -> None:
    with Scripted(tmp_path / "s", close, answer) as peer, Client(tmp_path / "s") as client:
        wait_until(lambda: not peer_is_up(client))
        assert client.remember("x") == "remember"
        assert peer


def test_a_write_that_was_half_sent_is_repeated(tmp_path: Path) -> None:
    def read_half(sock: socket.socket) -> None:
        assert len(sock.recv(1000)) == 1000

    found: list[Any] = []

    def read_all(sock: socket.socket) -> None:
        found.extend(read_requests(sock))
        sock.sendall(msgpack.packb([1, found[0][1], None, "stored"]))

    with Scripted(tmp_path / "s", read_half, read_all), Client(tmp_path / "s") as client:
        assert client.remember("x" * 5_000_000) == "stored"
    assert found[0][3] == [{"text": "x" * 5_000_000}]


def peer_is_up(client: Client) -> bool:
    assert client._sock is not None
    try:
        return client._sock.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True


def test_a_lost_pipeline_says_of_each_call_what_is_known(tmp_path: Path) -> None:
    def answer_one(sock: socket.socket) -> None:
        requests = read_requests(sock, 4)
        sock.sendall(msgpack.packb([1, requests[1][1], None, "second"]))

    def answer_all(sock: socket.socket) -> None:
        for _, msgid, method, _ in read_requests(sock, 2):
            sock.sendall(msgpack.packb([1, msgid, None, method]))

    calls: list[tuple[str, dict[str, Any]]] = [
        ("ping", {}),
        ("remember", {"text": "a"}),
        ("remember", {"text": "b"}),
        ("get", {"id": 1}),
    ]
    with Scripted(tmp_path / "s", answer_one, answer_all), Client(tmp_path / "s") as client:
        first, second, third, fourth = client.pipeline(calls)
    assert (first, second, fourth) == ("ping", "second", "get")
    assert isinstance(third, ConnectionLost)
    assert "may have been carried out" in third.message


def test_a_restarted_daemon_is_found_again(tmp_path: Path) -> None:
    client = Client(tmp_path / "s")
    for _ in range(3):
        with Serving(tmp_path / "s") as serving:
            assert client.ping() == "pong"
            assert client.call("echo", write=1) == {"write": 1}
            assert serving.server.n_connections == 1
    client.close()


def test_a_daemon_that_is_just_starting_is_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))  # bound, but nobody listens: refused
        timer = threading.Timer(0.1, stale.listen)
        timer.start()
        with Client(tmp_path / "s"):
            pass
        timer.join()


def test_no_daemon(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match="brain-daemon serve") as caught:
        Client(tmp_path / "nothing").connect()
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(ConnectionLost):
        Client(tmp_path / "nothing").ping()
    (item,) = Client(tmp_path / "nothing").pipeline([("ping", {})])
    assert isinstance(item, ConnectionLost)


def test_a_peer_of_another_protocol(tmp_path: Path) -> None:
    def http(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with Scripted(tmp_path / "s", http):
        client = Client(tmp_path / "s")
        with pytest.raises(ConnectionLost):
            client.remember("x")
        client.close()


def test_a_message_over_the_limit_is_told_so_although_it_is_still_being_sent(
    tmp_path: Path,
) -> None:
    limits = Limits(max_message_bytes=100_000)
    with Serving(tmp_path / "s", limits), Client(tmp_path / "s") as client:
        for size in (100_000, 50_000_000):
            with pytest.raises(TooLarge, match="limit 100000"):
                client.remember("x" * size)
        assert client.ping() == "pong"


def test_a_stranger_and_a_surplus_client_are_told_so(tmp_path: Path) -> None:
    def refuse(peer: Any) -> Any:
        raise Forbidden("not you")

    with Serving(tmp_path / "s", authenticate=refuse), Client(tmp_path / "s") as client:
        for _ in range(3):
            with pytest.raises(Forbidden, match="not you"):
                client.remember("x")
        calls = [("remember", {"text": str(i)}) for i in range(5)]
        assert [type(item) for item in client.pipeline(calls)] == [Forbidden] * 5
    with Serving(tmp_path / "s", Limits(max_connections=1)), Client(tmp_path / "s") as client:
        client.ping()
        with Client(tmp_path / "s") as second, pytest.raises(Overloaded) as caught:
            second.ping()
        assert caught.value.detail["retry_after_ms"] > 0


def test_a_refused_client_may_try_again(tmp_path: Path) -> None:
    first, second = Client(tmp_path / "s"), Client(tmp_path / "s")
    with Serving(tmp_path / "s", Limits(max_connections=1)) as serving, first, second:
        first.ping()
        with pytest.raises(Overloaded):
            second.ping()
        first.close()
        wait_until(lambda: serving.server.n_connections <= 1)
        assert second.ping() == "pong"


def test_a_peer_that_closed_is_heard_before_it_is_given_up(tmp_path: Path) -> None:
    def refuse(sock: socket.socket) -> None:
        error = {"code": "overloaded", "message": "not now", "detail": {}}
        sock.sendall(msgpack.packb([1, None, error, None]))

    client = Client(tmp_path / "s")
    with Scripted(tmp_path / "s", refuse):
        client.connect()
    with pytest.raises(Overloaded, match="not now"):
        client.remember("x")
    client.close()


def test_threads_may_share_a_client(serving: Serving) -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for i in range(100):
            if client.call("later", n=number, i=i) != {"n": number, "i": i}:
                wrong.append((number, i))

    with Client(serving.path) as client:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_the_named_methods_call_what_they_are_named_after(serving: Serving) -> None:
    class Recorder(Methods):
        def call(self, method: str, /, **params: Any) -> Any:
            return method

    recorder = Recorder()
    arguments = {"graph_entity": 1, "graph_relations": 1, "graph_traverse": 1}
    arguments |= {"link": 3, "unlink": 3, "verify": 2, "decay_extend": 2}
    arguments |= {"remember": 1, "ingest_markdown": 2, "recall": 1, "get": 1, "multi_get": 1}
    arguments |= {"trace": 1, "quarantine_release": 1, "quarantine_delete": 1}
    names = {name for name in vars(Methods) if name[0] != "_"} - {"call"}
    for name in names:
        n_arguments = arguments.get(name, 1 if name == "backup" else 0)
        called = getattr(recorder, name)(*["x"] * n_arguments)
        assert called == name or called.replace(".", "_") == name
    writes = {"remember", "ingest_markdown", "forget", "reindex", "compact", "backup"}
    writes |= {"link", "unlink", "decay_extend", "quarantine_release", "quarantine_delete"}
    writes |= {"quarantine_screen", "policy_reload"}
    assert {n for n in names if n not in {r.replace(".", "_") for r in REPEATABLE}} == writes
    assert not writes & REPEATABLE

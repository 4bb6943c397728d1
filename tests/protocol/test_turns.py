"""Who is served when: many long pipelines hold up nobody else for long."""

from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tests.protocol.serving import Serving, answers, request, wait_until

N_PIPELINES = 40
N_REQUESTS = 100  # of each, half a millisecond of work each


def test_a_single_request_does_not_wait_for_a_round_of_pipelines(tmp_path: Path) -> None:
    work = b"".join(request(i, "work", {"s": 0.0005}) for i in range(N_REQUESTS))
    with Serving(tmp_path / "s.sock") as serving, ExitStack() as crowd:
        single = crowd.enter_context(serving.connect())
        single.sendall(request(0, "ping"))
        assert answers(single, 1)
        pipelines = [crowd.enter_context(serving.connect()) for _ in range(N_PIPELINES)]
        for pipeline in pipelines:
            pipeline.sendall(work)
        wait_until(lambda: len(serving.calls) > 2 * N_PIPELINES)
        served_before = []
        for i in range(15):
            n_before = len(serving.calls)
            single.sendall(request(i, "ping"))
            assert answers(single, 1) == [[1, i, None, "pong"]]
            served_before.append(serving.calls.index(("ping", False), n_before) - n_before)
        # One turn is two or three of these requests; a round would be some hundred.
        assert median(served_before) < N_PIPELINES / 2, served_before
        for pipeline in pipelines:  # and nobody is forgotten
            assert len(answers(pipeline, N_REQUESTS)) == N_REQUESTS

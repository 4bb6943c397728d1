"""Every wire code has an exit code, and every exit code a meaning."""

import pytest

from brain_daemon import errors
from brain_daemon.cli import exits


def test_each_exit_code_has_a_meaning() -> None:
    codes = {v for name, v in vars(exits).items() if name.isupper() and isinstance(v, int)}
    assert codes == set(exits.MEANINGS)


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("bad_request", 2),
        ("not_found", 1),
        ("conflict", 4),
        ("forbidden", 5),
        ("too_large", 4),
        ("quota_exceeded", 4),
        ("capacity_exceeded", 4),
        ("overloaded", 6),
        ("deadline_exceeded", 6),
        ("store_degraded", 4),
        ("schema_too_new", 4),
        ("model_mismatch", 4),
        ("internal", 4),
        ("connection_lost", 3),
    ],
)
def test_exit_code_of_each_wire_code(code: str, exit_code: int) -> None:
    assert exits.exit_code(errors.ERROR_BY_CODE[code]("x")) == exit_code


def test_the_table_covers_every_wire_code() -> None:
    marks = test_exit_code_of_each_wire_code.pytestmark  # type: ignore[attr-defined]
    assert {code for code, _ in marks[0].args[1]} == set(errors.ERROR_BY_CODE)


@pytest.mark.parametrize("code", sorted(errors.ERROR_BY_CODE))
def test_what_the_log_may_explain_names_the_request(code: str) -> None:
    error = errors.ERROR_BY_CODE[code]("it did not work", request="7-42")
    is_told = "(request 7-42)" in exits.failure(error).message
    assert is_told == (code in ("store_degraded", "deadline_exceeded", "overloaded"))


def test_an_error_is_one_safe_line(capsys: pytest.CaptureFixture[str]) -> None:
    exits.failure(errors.Overloaded("busy\x1b[1m\nnow", retry_after_ms=100)).show()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "brain: busy\\x1b[1m now (try again in 100 ms)\n"

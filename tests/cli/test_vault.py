"""Walking a vault, ignore rules, reading files, and what has vanished."""

import os
import socket
from pathlib import Path

import pytest

from brain_daemon.cli.vault import (
    Note,
    Problem,
    Unreadable,
    notes_of,
    path_of,
    read_text,
    vanished,
)

AS_ROOT = os.geteuid() == 0


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n", encoding="utf-8")


def names(root: Path, **options: Path) -> list[str]:
    found = notes_of(root, options.get("ignore_file"))
    return [note.path.relative_to(root).as_posix() for note in found if isinstance(note, Note)]


def problems(root: Path) -> dict[str, Problem]:
    found = [entry for entry in notes_of(root) if isinstance(entry, Problem)]
    return {problem.path.relative_to(root).as_posix(): problem for problem in found}


def test_takes_notes_by_suffix_in_a_stable_order(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a.markdown", "c.TXT", "sub/z.md", "d.png", "readme", "another/y.md")
    assert names(tmp_path) == ["a.markdown", "b.md", "c.TXT", "another/y.md", "sub/z.md"]


def test_leaves_out_hidden_and_machine_folders(tmp_path: Path) -> None:
    make(tmp_path, ".hidden.md", ".git/x.md", ".obsidian/x.md", "node_modules/x.md", "ok.md")
    assert names(tmp_path) == ["ok.md"]


def test_a_hidden_root_is_walked_when_named(tmp_path: Path) -> None:
    make(tmp_path / ".notes", "a.md")
    assert names(tmp_path / ".notes") == ["a.md"]


def test_a_file_named_outright_is_taken_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, ".secret.org", ".brainignore")
    (tmp_path / ".brainignore").write_text("*\n")
    path = (tmp_path / ".secret.org").resolve()
    assert list(notes_of(path)) == [Note(path, path.as_uri(), "markdown")]


def test_ignore_rules_are_those_of_git(tmp_path: Path) -> None:
    make(tmp_path, "a.draft.md", "keep.draft.md", "private/x.md", "deep/private/x.md", "top.md")
    make(tmp_path, "deep/top.md", "deep/only/here.md", "only/here.md")
    (tmp_path / ".brainignore").write_text(
        "# drafts\n*.draft.md\n!keep.draft.md\nprivate/\n/top.md\n"
    )
    (tmp_path / "deep" / ".brainignore").write_text("only\n")
    assert names(tmp_path) == ["keep.draft.md", "deep/top.md", "only/here.md"]


def test_a_deeper_ignore_file_wins_over_the_one_above(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "sub/a.md")
    (tmp_path / ".brainignore").write_text("a.md\n")
    (tmp_path / "sub" / ".brainignore").write_text("!a.md\n")
    assert names(tmp_path) == ["sub/a.md"]


def test_the_ignore_file_of_the_command_line_wins(tmp_path: Path) -> None:
    make(tmp_path, "vault/a.md", "vault/b.md")
    (tmp_path / "vault" / ".brainignore").write_text("!b.md\n")
    (tmp_path / "more").write_text("/b.md\n")
    assert names(tmp_path / "vault", ignore_file=tmp_path / "more") == ["a.md"]


def test_an_unusable_ignore_file_holds_back_its_folder_only(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "sub/secret.md")
    (tmp_path / "sub" / ".brainignore").write_bytes(b"\xff\xfe")
    assert names(tmp_path) == ["a.md"]
    assert problems(tmp_path)["sub"].failed


def test_uris_are_absolute_and_percent_encoded(tmp_path: Path) -> None:
    make(tmp_path, "Über uns #1.md")
    (note,) = notes_of(tmp_path)
    assert isinstance(note, Note)
    assert note.uri == note.path.resolve().as_uri()
    assert note.uri.endswith("/%C3%9Cber%20uns%20%231.md")
    assert path_of(note.uri) == note.path


def test_a_path_that_is_not_utf8_has_a_uri_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.md")
    path.write_text("x")
    (note,) = notes_of(tmp_path)
    assert isinstance(note, Note)
    assert path_of(note.uri) == path


def test_links_within_are_read_and_links_to_folders_or_out_of_the_vault_reported(
    tmp_path: Path,
) -> None:
    make(tmp_path, "vault/a.md", "outside/secret.md")
    vault = tmp_path / "vault"
    (vault / "near.md").symlink_to(vault / "a.md")
    (vault / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (vault / "loop").symlink_to(vault)
    found = {n.path.name: n.uri for n in notes_of(vault) if isinstance(n, Note)}
    assert found == {"a.md": (vault / "a.md").as_uri(), "near.md": (vault / "a.md").as_uri()}
    left = problems(vault)
    assert set(left) == {"out.md", "loop"}
    assert not any(problem.failed for problem in left.values())
    assert "secret.md; name that to ingest it" in left["out.md"].reason


def test_broken_and_looping_links_fail_alone(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "z/b.md")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "me.md").symlink_to("me.md")
    (tmp_path / "loop").symlink_to("loop")
    assert names(tmp_path) == ["a.md", "z/b.md"]
    assert set(problems(tmp_path)) == {"gone.md", "me.md"}


def test_a_folder_that_vanishes_in_mid_walk_stops_nothing(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b/x.md", "c/y.md")
    walk = notes_of(tmp_path)
    first = next(walk)
    (tmp_path / "b" / "x.md").unlink()
    (tmp_path / "b").rmdir()
    rest = list(walk)
    assert isinstance(first, Note)
    assert [type(entry) for entry in rest] == [Problem, Note]


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_an_unreadable_folder_is_a_problem(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "locked/x.md")
    (tmp_path / "locked").chmod(0)
    try:
        assert names(tmp_path) == ["a.md"]
        assert problems(tmp_path)["locked"].failed
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_reads_verbatim_without_the_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbf# A\r\n\r\nb\tc \xc3\xa9\n")
    assert read_text(path, 1000) == "# A\r\n\r\nb\tc é\n"


def test_refuses_what_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"abc\xff")
    with pytest.raises(Unreadable, match=r"not UTF-8 text \(byte 3\)"):
        read_text(path, 1000)


def test_the_largest_size_is_inclusive(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * 10)
    assert read_text(path, 10) == "x" * 10
    with pytest.raises(Unreadable, match="10 bytes; the daemon takes 9"):
        read_text(path, 9)


def test_refuses_pipes_sockets_and_folders_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tmp_path / "socket.md"))
        for name in ("pipe.md", "socket.md", "."):
            with pytest.raises(Unreadable):
                read_text(tmp_path / name, 1000)


def test_a_vanished_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        read_text(tmp_path / "gone.md", 1000)


def test_vanished_tells_gone_from_left_out(tmp_path: Path) -> None:
    make(tmp_path, "seen.md", "ignored.md", "vault/x.md")
    root = tmp_path
    uris = {
        name: (root / name).as_uri()
        for name in ("seen.md", "ignored.md", "gone.md", "unknown/x.md", "no/such/folder.md")
    }
    stored = [*uris.values(), "memory:1", "file:///elsewhere/gone.md"]
    unknown = [Problem(root / "unknown", "cannot list")]
    found = dict(vanished(stored, {uris["seen.md"]}, unknown, root))
    assert found == {
        uris["ignored.md"]: "left out",
        uris["gone.md"]: "gone",
        uris["no/such/folder.md"]: "gone",
    }


@pytest.mark.parametrize("uri", ["memory:1", "https://a/b.md", "file:relative.md", ""])
def test_other_uris_have_no_path(uri: str) -> None:
    assert path_of(uri) is None

"""The embedded server is there when asked for, whatever the machine did, or says in one line why not."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedded_postgres import (
    EmbeddedPostgresError,
    Server,
    accounts,
    binaries,
    cluster,
    ensure_running,
    is_running,
    stop,
)
from core.embedded_postgres.connection import read_postmaster
from core.embedded_postgres.errors import operating_system_errors_explained

pytestmark = pytest.mark.xdist_group("embedded_postgres")  # the fixtures below are dear

REPOSITORY = Path(__file__).resolve().parents[2]

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user")


@pytest.fixture(scope="module")
def public_folder() -> Iterator[Path]:
    """Give a folder that the server's user may enter, unlike pytest's own when root runs it."""
    folder = Path(tempfile.mkdtemp(prefix="wisdom-test-"))
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binaries, "SHARED_FOLDER", folder / "shared")
        yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def state(public_folder: Path) -> Iterator[Path]:
    """Give a state folder, with a space in its path, whose server runs."""
    folder = public_folder / "state folder"
    ensure_running(folder)
    yield folder
    stop(folder)


@pytest.fixture
def new_state(public_folder: Path) -> Iterator[Path]:
    """Give a state folder that isn't there yet."""
    folder = Path(tempfile.mkdtemp(dir=public_folder))
    folder.chmod(0o755)
    yield folder / "state"
    with suppress(EmbeddedPostgresError):  # some tests leave a folder there that is refused
        stop(folder / "state")


def rows(dsn: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def own_by_server_user(place: Path) -> None:
    accounts.give(place, accounts.account_for_new_cluster())


def test_a_second_caller_joins_the_running_server(state: Path) -> None:
    server = ensure_running(state)

    assert server.joined
    assert rows(server.app_dsn(), "SELECT current_user, current_database()") == [("wisdom_app", "wisdom")]
    assert is_running(state)


def test_roles_have_exactly_the_powers_they_need(state: Path) -> None:
    server = ensure_running(state)

    found = rows(
        server.superuser_dsn(),
        "SELECT rolname, rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolbypassrls, rolreplication "
        "FROM pg_roles WHERE rolname LIKE 'wisdom%' ORDER BY rolname",
    )

    assert found == [
        ("wisdom_app", True, False, False, False, False, False),
        ("wisdom_owner", True, False, True, True, True, False),
        ("wisdom_search", False, False, False, False, True, False),
    ]


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE intruder (id int)", "CREATE DATABASE intruder", "SET ROLE wisdom_search"]
)
def test_the_app_role_can_make_nothing(state: Path, statement: str) -> None:
    server = ensure_running(state)

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        rows(server.app_dsn(), statement)


def test_the_owner_can_give_functions_to_the_search_role_in_databases_it_makes(state: Path) -> None:
    server = ensure_running(state)
    rows(server.owner_dsn(), "CREATE DATABASE made_by_owner")
    made = server.owner_dsn("made_by_owner")

    rows(made, "CREATE FUNCTION one() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'")
    rows(made, "ALTER FUNCTION one() OWNER TO wisdom_search")

    extensions = {name for (name,) in rows(made, "SELECT extname FROM pg_extension")}
    assert {"vector", "unaccent", "pg_trgm", "btree_gin"} <= extensions
    rows(server.owner_dsn(), "DROP DATABASE made_by_owner")


def test_the_server_listens_on_a_private_socket_only(state: Path) -> None:
    server = ensure_running(state)

    assert rows(server.superuser_dsn(), "SHOW listen_addresses") == [("",)]
    assert server.socket_directory.stat().st_mode & 0o077 == 0


def test_a_killed_server_comes_back_with_its_data(state: Path) -> None:
    server = ensure_running(state)
    rows(server.owner_dsn(), "CREATE TABLE IF NOT EXISTS kept (word text)")
    rows(server.owner_dsn(), "INSERT INTO kept VALUES ('here')")
    postmaster = read_postmaster(server.data_directory)
    assert postmaster is not None

    os.kill(postmaster.pid, signal.SIGKILL)
    again = ensure_running(state)

    assert rows(again.owner_dsn(), "SELECT DISTINCT word FROM kept") == [("here",)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{os.getpid()}\n/elsewhere\n1\n5432\n/tmp\n\n", id="number of another process"),
        pytest.param("", id="empty, after a full disk"),
        pytest.param("no number\n", id="not legible"),
    ],
)
def test_a_stale_process_file_does_not_hinder_the_start(state: Path, text: str) -> None:
    server = ensure_running(state)
    stop(state)
    left = server.data_directory / "postmaster.pid"
    left.write_text(text)
    own_by_server_user(left)

    again = ensure_running(state)

    assert not again.joined
    assert rows(again.app_dsn(), "SELECT 1") == [(1,)]


def test_stopping_twice_is_no_error(state: Path) -> None:
    ensure_running(state)

    assert stop(state)
    assert not stop(state)
    assert not is_running(state)


def test_an_interrupted_bootstrap_is_finished_by_the_next_caller(state: Path) -> None:
    server = ensure_running(state)
    rows(server.superuser_dsn(), "ALTER ROLE wisdom_app CREATEDB")
    (server.data_directory / "wisdom_bootstrap").unlink()

    ensure_running(state)

    assert rows(server.superuser_dsn(), "SELECT rolcreatedb FROM pg_roles WHERE rolname = 'wisdom_app'") == [(False,)]


def test_two_processes_that_start_at_once_get_one_server(new_state: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from core.embedded_postgres import ensure_running;"
        "server = ensure_running(Path(sys.argv[1])); print(server.joined, server.app_dsn())"
    )
    command = [sys.executable, "-c", script, str(new_state)]

    processes = [subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    answers = [process.communicate()[0].split() for process in processes]

    assert sorted(joined for joined, _ in answers) == ["False", "True"]
    assert answers[0][1] == answers[1][1]


def test_a_cluster_left_half_made_is_made_again(new_state: Path) -> None:
    half_made = new_state / "postgres.unfinished-abc"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")

    server = ensure_running(new_state)

    assert rows(server.app_dsn(), "SELECT 1") == [(1,)]
    assert not half_made.exists()


@ONLY_ROOT
def test_a_clone_below_a_private_folder_of_root_works(new_state: Path) -> None:
    new_state.parent.chmod(0o700)

    server = ensure_running(new_state)

    assert (new_state / "postgres").is_symlink()
    assert binaries.SHARED_FOLDER in server.data_directory.parents
    assert rows(server.app_dsn(), "SELECT 1") == [(1,)]
    assert ensure_running(new_state).joined


@ONLY_ROOT
def test_a_cluster_that_went_with_its_container_is_made_anew(new_state: Path) -> None:
    new_state.mkdir()
    (new_state / "postgres").symlink_to(binaries.SHARED_FOLDER / "gone" / "postgres")

    server = ensure_running(new_state)

    assert rows(server.app_dsn(), "SELECT 1") == [(1,)]


@ONLY_ROOT
def test_programs_below_a_private_folder_of_root_are_copied_within_reach(
    public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = accounts.account_for_new_cluster()
    reachable = accounts.Account.may_execute
    monkeypatch.setattr(accounts.Account, "may_execute", lambda self, program: False)

    programs = binaries.programs_for(account)

    assert binaries.SHARED_FOLDER in programs.parents
    assert account is not None
    assert reachable(account, programs / "postgres")
    assert binaries.run([programs / "postgres", "-V"], timeout_seconds=30, account=account).status == 0


def test_a_cluster_of_another_major_version_is_refused_and_left_alone(new_state: Path) -> None:
    old = new_state / "postgres"
    old.mkdir(parents=True)
    (old / "PG_VERSION").write_text("17\n")
    own_by_server_user(old)

    with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 17 and the installed wheel has 18"):
        ensure_running(new_state)

    assert [place.name for place in old.iterdir()] == ["PG_VERSION"]


def test_a_folder_that_is_no_cluster_is_refused_and_left_alone(new_state: Path) -> None:
    precious = new_state / "postgres" / "precious"
    precious.mkdir(parents=True)

    with pytest.raises(EmbeddedPostgresError, match="is no PostgreSQL cluster"):
        ensure_running(new_state)

    assert precious.exists()


def test_a_link_that_leads_nowhere_is_refused(new_state: Path) -> None:
    new_state.mkdir()
    (new_state / "postgres").symlink_to("/nowhere/postgres")

    with pytest.raises(EmbeddedPostgresError, match="leads to /nowhere/postgres"):
        ensure_running(new_state)


def test_a_full_disk_is_told_before_anything_is_made(new_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil._ntuple_diskusage(total=10**9, used=10**9, free=0)
    monkeypatch.setattr(cluster.shutil, "disk_usage", lambda place: full)

    with pytest.raises(EmbeddedPostgresError, match="less than 200 MB left"):
        ensure_running(new_state)

    assert [place.name for place in new_state.iterdir()] == ["postgres.lock"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /dev/shm")
@pytest.mark.parametrize(("free_megabytes", "expected"), [(1, "mmap"), (64, "posix")])
def test_a_tiny_dev_shm_is_done_without(monkeypatch: pytest.MonkeyPatch, free_megabytes: int, expected: str) -> None:
    size = shutil._ntuple_diskusage(total=64 << 20, used=0, free=free_megabytes << 20)
    monkeypatch.setattr(cluster.shutil, "disk_usage", lambda place: size)

    assert cluster.shared_memory_kind() == expected


def test_the_first_complaint_of_a_program_is_the_one_that_is_told() -> None:
    output = (
        "creating configuration files ... ok\n"
        "2026-01-01 00:00:00.000 UTC [7] FATAL:  could not write: No space left on device\n"
        "initdb: error: child process exited with exit code 1\n"
    )

    outcome = binaries.Outcome(status=1, output=output)

    assert outcome.reason == "FATAL:  could not write: No space left on device"


def test_a_state_folder_that_cannot_be_made_is_told(public_folder: Path) -> None:
    file = public_folder / "a file"
    file.write_text("in the way")

    with pytest.raises(EmbeddedPostgresError, match="a file"):
        ensure_running(file / "state")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "set WA_STATE_DIR to a folder of yours"),
        (errno.EACCES, "set WA_STATE_DIR to a folder of yours"),
        (errno.ENOSPC, "is full"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_the_system_refuses_is_told_in_one_line(number: int, words: str) -> None:
    with (
        pytest.raises(EmbeddedPostgresError, match=words) as told,
        operating_system_errors_explained(Path("/somewhere")),
    ):
        raise OSError(number, os.strerror(number), "/somewhere/postgres")

    assert "\n" not in str(told.value)
    assert "/somewhere/postgres" in str(told.value)


def test_a_user_without_a_passwd_entry_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)

    with pytest.raises(EmbeddedPostgresError, match="user id 54321 has no entry in /etc/passwd"):
        accounts.account_for_new_cluster()


def test_root_without_useradd_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", unknown)
    monkeypatch.setattr(shutil, "which", lambda name: None)

    with pytest.raises(EmbeddedPostgresError, match="there is no useradd"):
        accounts.account_for_new_cluster()


def test_a_missing_wheel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find_spec", lambda name: None)

    with pytest.raises(EmbeddedPostgresError, match="run `make setup`, or set WA_DATABASE_DSN"):
        binaries.programs_for(None)


def test_a_socket_folder_that_others_may_enter_is_refused() -> None:
    long_path = Path("/nowhere") / ("x" * 200)
    folder = cluster.private_folder_for(long_path, None)
    folder.chmod(0o777)

    try:
        with pytest.raises(EmbeddedPostgresError, match="isn't a private folder"):
            cluster.private_folder_for(long_path, None)
    finally:
        folder.rmdir()


def test_the_command_line_says_no_in_one_line(public_folder: Path) -> None:
    file = public_folder / "another file"
    file.write_text("in the way")

    ended = subprocess.run(
        [sys.executable, "-m", "core.embedded_postgres", "start", "--state-dir", str(file)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1


@given(folder=st.text(min_size=1), database=st.text(min_size=1))
def test_addresses_keep_any_path_and_name_whole(folder: str, database: str) -> None:
    server = Server(Path("/data"), Path("/") / folder, 20000, joined=True)

    address = server.app_dsn(database)

    path, _, query = address.removeprefix("postgresql://wisdom_app@/").partition("?")
    assert unquote(path) == database
    assert unquote(query.removeprefix("host=").partition("&")[0]) == str(server.socket_directory)


@given(text=st.text())
def test_any_process_file_is_read_without_a_fault(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "postmaster.pid").write_text(text, encoding="utf-8")

    found = read_postmaster(folder)

    assert found is None or not found.answers()

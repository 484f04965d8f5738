"""Place a cluster on the disk, make it with initdb and configure it for this machine."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import stat
import sys
import tempfile
from pathlib import Path

from core.embedded_postgres import binaries
from core.embedded_postgres.accounts import Account, account_for_new_cluster, give
from core.embedded_postgres.errors import EmbeddedPostgresError

SUPERUSER = "postgres"

_INITDB_TIMEOUT_SECONDS = 600
_MEGABYTE = 1 << 20
_NEEDED_FREE_BYTES = 200 * _MEGABYTE
_NEEDED_SHARED_BYTES = 32 * _MEGABYTE
_LONGEST_SOCKET_FOLDER = 80  # bytes; the kernel's limit of 107 includes "/.s.PGSQL.54321.lock"
_LOG_LIMIT_BYTES = 20 * _MEGABYTE

_CONFIGURATION = """\
# Written anew at each start; put settings of your own into postgresql.conf, below the include.
listen_addresses = ''
unix_socket_directories = '{socket_folder}'
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = {shared_buffers}MB
effective_cache_size = {effective_cache_size}MB
maintenance_work_mem = {maintenance_work_mem}MB
work_mem = 16MB
dynamic_shared_memory_type = {shared_memory}
# Parallel workers would share more memory than the 64 MB that /dev/shm often has in a container.
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
checkpoint_timeout = 15min
max_wal_size = 2GB
wal_compression = on
jit = off
random_page_cost = 1.1
autovacuum_vacuum_insert_scale_factor = 0.05
# A first load is asked about at once: until it has been counted, its plans are guesses.
autovacuum_naptime = 10s
log_min_duration_statement = 2000
log_line_prefix = '%m [%p] %a '
log_timezone = 'UTC'
timezone = 'UTC'
lc_messages = 'C'
"""


def find_cluster(state_directory: Path) -> Path | None:
    """Return the real path of a state folder's cluster, None where there is none yet.

    Raises: EmbeddedPostgresError when something else is in its place, or a link of somebody's leads nowhere.
    """
    place = state_directory / "postgres"
    if place.exists():
        if (place / "PG_VERSION").exists():
            return place.resolve()
        if place.is_dir() and not any(place.iterdir()):
            return None
        raise EmbeddedPostgresError(
            f"{place} is no PostgreSQL cluster: remove it, or set WA_STATE_DIR to another folder"
        )
    if place.is_symlink() and binaries.SHARED_FOLDER not in place.resolve().parents:
        raise EmbeddedPostgresError(
            f"{place} leads to {place.resolve()}, which isn't there: bring it back, or remove the link to start anew"
        )
    return None


def make_cluster(state_directory: Path) -> Path:
    """Make an empty cluster for a state folder and return its real path; the caller holds the folder's lock.

    Raises: EmbeddedPostgresError when this machine or its disk won't have it.
    """
    account = account_for_new_cluster()
    place = state_directory / "postgres"
    if place.is_symlink() and not place.exists():
        place.unlink()  # to what was ours and is gone
    target = place.resolve()
    is_out_of_reach = account is not None and not account.may_enter(target.parent)
    if is_out_of_reach:
        # A folder of its own each time: what lies there under this name may belong to a clone that was moved.
        binaries.make_shared_folder()
        home = Path(tempfile.mkdtemp(prefix=f"{_short_hash(state_directory)}-", dir=binaries.SHARED_FOLDER))
        give(home, account)
        target = home / "postgres"
    binaries.refuse_shell_signs(target)
    if shutil.disk_usage(target.parent).free < _NEEDED_FREE_BYTES:
        raise EmbeddedPostgresError(
            f"the disk that holds {target.parent} has less than {_NEEDED_FREE_BYTES // _MEGABYTE} MB left: "
            "make room, or set WA_STATE_DIR to a folder on another disk"
        )
    _initialise(target, account)
    if is_out_of_reach:
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            place.rmdir()
        place.symlink_to(target)
    return target


def _initialise(target: Path, account: Account | None) -> None:
    for abandoned in target.parent.glob(f"{target.name}.unfinished-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}.unfinished-", dir=target.parent))
    give(unfinished, account)
    made = binaries.run(
        [
            binaries.programs_for(account) / "initdb",
            *("--pgdata", unfinished),
            *("--username", SUPERUSER),
            # The socket's folder is private, and there is no host to connect from.
            *("--auth-local=trust", "--auth-host=reject"),
            # The same order of text on every machine, whatever its locales.
            *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            *("--set", f"dynamic_shared_memory_type={shared_memory_kind()}"),
            "--no-instructions",
        ],
        timeout_seconds=_INITDB_TIMEOUT_SECONDS,
        account=account,
    )
    if made.status != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise EmbeddedPostgresError(f"PostgreSQL can't make its cluster in {target.parent}: {made.reason}")
    with (unfinished / "postgresql.conf").open("a", encoding="utf-8") as configuration:
        # A port of its own names the socket's file. When a clone is removed below a running server and made
        # again, the old server notices within a minute and deletes its socket by name: not the new one.
        configuration.write(f"\nport = {20000 + secrets.randbelow(30000)}\ninclude 'wisdom.conf'\n")
    unfinished.rename(target)  # whole or not at all


def configure(cluster: Path, account: Account | None) -> None:
    """Write the settings that depend on the machine, and clear away what a killed server left behind."""
    socket_folder = _socket_folder(cluster, account)
    # Ours alone, and no server of ours runs. PostgreSQL wouldn't take these files from a process that has its
    # number still, as a zombie, or again, in a container that came up anew.
    for left in socket_folder.glob(".s.PGSQL.*"):
        left.unlink()
    memory = _memory_bytes() // _MEGABYTE
    text = _CONFIGURATION.format(
        socket_folder=socket_folder,
        shared_memory=shared_memory_kind(),
        shared_buffers=max(32, min(memory // 8, 4096)),
        effective_cache_size=max(128, memory // 2),
        maintenance_work_mem=max(32, min(memory // 8, 2048)),
    )
    written = cluster / "wisdom.conf.new"
    written.write_text(text, encoding="utf-8")
    give(written, account)
    written.replace(cluster / "wisdom.conf")
    log = cluster / "server.log"
    if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
        log.replace(cluster / "server.log.old")


def _short_hash(place: Path) -> str:
    return hashlib.sha256(os.fsencode(place)).hexdigest()[:12]


def _socket_folder(cluster: Path, account: Account | None) -> Path:
    """Return a private folder for the socket: the cluster, or one in /tmp if no socket can be named there."""
    plain = not set(str(cluster)) & set(" ,'\"@\t")
    if plain and len(os.fsencode(cluster)) <= _LONGEST_SOCKET_FOLDER and _holds_sockets(cluster):
        return cluster
    return private_folder_for(cluster, account)


def private_folder_for(cluster: Path, account: Account | None) -> Path:
    """Return a folder in /tmp that belongs to the server's user alone, whoever else may write there.

    Raises: EmbeddedPostgresError when somebody else has put something in its place.
    """
    uid = account.uid if account else os.geteuid()
    folder = Path("/tmp") / f"wisdom-{uid}-{_short_hash(cluster)}"  # noqa: S108  # checked below for whose it is
    try:
        folder.mkdir(mode=0o700)
        give(folder, account)
    except FileExistsError:
        pass
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o077:
        raise EmbeddedPostgresError(
            f"{folder} isn't a private folder of user id {uid}: remove it, or use a clone with a shorter path"
        )
    return folder


def _holds_sockets(folder: Path) -> bool:
    """Tell whether the file system knows unix sockets; some that are shared with a host don't."""
    probe = folder / ".s.probe"
    probe.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(probe))
        except OSError:
            return False
    probe.unlink()
    return True


def shared_memory_kind() -> str:
    """Return where processes share what the fixed segment doesn't hold: /dev/shm, or files if there's no room."""
    shared = Path("/dev/shm")  # noqa: S108  # asked for its size only
    if not sys.platform.startswith("linux"):
        return "posix"
    roomy = shared.is_dir() and shutil.disk_usage(shared).free >= _NEEDED_SHARED_BYTES
    return "posix" if roomy else "mmap"


def _memory_bytes() -> int:
    """Return the memory of the machine, or of the container if that is less."""
    amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            amounts.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such limit: the file is absent or says "max"
    return min(amounts)


def refuse_unusable(cluster: Path, account: Account | None, programs: Path) -> None:
    """Refuse a cluster of another major version, or one its server's user can't reach."""
    made_by = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    wheel = binaries.major_version(programs)
    if made_by != wheel:
        raise EmbeddedPostgresError(
            f"{cluster} was made by PostgreSQL {made_by} and the installed wheel has {wheel}: dump it with "
            "the old wheel and restore it into a new state folder, or remove it to start anew"
        )
    if account is not None and not account.may_enter(cluster):
        raise EmbeddedPostgresError(
            f"a folder above {cluster} is private, and the server's user id {account.uid} can't enter it: "
            "open it with chmod o+x, or set WA_STATE_DIR to another folder"
        )

"""Decide as which system user the server runs: PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from core.embedded_postgres.errors import EmbeddedPostgresError

SYSTEM_USER = "wisdom_pg"

_READ, _ENTER = 0o4, 0o1


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group a server process runs as."""

    uid: int
    gid: int

    def may_enter(self, folder: Path) -> bool:
        """Tell whether every folder down to `folder` lets this account through, by mode bits alone."""
        return all(self._has(_ENTER, place) for place in (folder, *folder.parents))

    def may_execute(self, program: Path) -> bool:
        return self.may_enter(program.parent) and self._has(_READ | _ENTER, program)

    def _has(self, bits: int, place: Path) -> bool:
        status = place.stat()
        if status.st_uid == self.uid:
            shift = 6
        elif status.st_gid == self.gid:
            shift = 3
        else:
            shift = 0
        return (status.st_mode >> shift) & bits == bits


def account_owning(cluster: Path) -> Account | None:
    """Return the account an existing cluster's server runs as; None is this process's own.

    For root it is the folder's owner, so that `sudo` works on an ordinary user's clone, and so does a cluster
    whose system user got another number when a container was rebuilt.
    Raises: EmbeddedPostgresError when somebody else's cluster is met.
    """
    owner = cluster.stat()
    if os.geteuid() == 0:
        if owner.st_uid == 0:
            raise EmbeddedPostgresError(
                f"{cluster} belongs to root, as whom PostgreSQL doesn't run: chown -R it to {SYSTEM_USER}"
            )
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    if owner.st_uid != os.geteuid():
        raise EmbeddedPostgresError(
            f"{cluster} belongs to user id {owner.st_uid} and you are {os.geteuid()}: run as that user or as "
            "root, or set WA_STATE_DIR to a folder of yours"
        )
    return None


def account_for_new_cluster() -> Account | None:
    """Return the account that is to own a new cluster; None is this process's own.

    Root gets the system user `wisdom_pg`, made here if there is none.
    Raises: EmbeddedPostgresError when the account can't be had.
    """
    if os.geteuid() == 0:
        return _system_account() or _make_system_account()
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        # initdb looks its user up and has no switch to do without.
        raise EmbeddedPostgresError(
            f"user id {os.geteuid()} has no entry in /etc/passwd, which PostgreSQL's initdb demands: add "
            "one, run as a user that has one, or set WA_DATABASE_DSN to a server of yours"
        ) from None
    return None


def _system_account() -> Account | None:
    try:
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _make_system_account() -> Account:
    if program := shutil.which("useradd"):
        command = [
            program,
            "--system",
            "--user-group",
            "--no-create-home",
            "--shell",
            "/bin/false",
            SYSTEM_USER,
        ]
    elif program := shutil.which("adduser"):  # busybox
        command = [program, "-S", "-D", "-H", "-s", "/bin/false", SYSTEM_USER]
    else:
        raise EmbeddedPostgresError(
            "PostgreSQL doesn't run as root, and there is no useradd to make it a user: make a system user "
            f"named {SYSTEM_USER}, run as an ordinary user, or set WA_DATABASE_DSN to a server of yours"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # fixed words
    account = _system_account()  # whatever the exit status was: another process may have been first
    if account is None:
        reason = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise EmbeddedPostgresError(
            f"the system user {SYSTEM_USER} can't be made ({reason}): make it by hand, run as an ordinary "
            "user, or set WA_DATABASE_DSN to a server of yours"
        )
    return account


def give(place: Path, account: Account | None) -> None:
    """Make the account the owner of a file or folder that this process has made."""
    if account is not None:
        os.chown(place, account.uid, account.gid)

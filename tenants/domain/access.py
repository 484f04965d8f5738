"""Roles and scopes: who may do what."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum

# What a tenant or a corpus may be called in an address.
SLUG_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"


class Role(StrEnum):
    """A person's role in a tenant; each includes the ones before it."""

    VIEWER = "viewer"
    ANALYST = "analyst"
    CURATOR = "curator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Return the place in the order, 0 for the least."""
        return list(Role).index(self)

    def includes(self, other: Role) -> bool:
        """Say whether this role may do what `other` may."""
        return self.rank >= other.rank


class Scope(StrEnum):
    """What an API key may be used for."""

    DOCUMENTS_READ = "documents:read"
    DOCUMENTS_WRITE = "documents:write"
    ASK = "ask"
    PACKETS = "packets"
    MONITORS = "monitors"
    EVALS = "evals"
    ADMIN = "admin"


KEY_PATTERN = re.compile(r"wsk_([a-z0-9]{8})_([A-Za-z0-9_-]{32,64})\Z")


@dataclass(frozen=True, slots=True)
class ApiSecret:
    """A key as its owner holds it: `wsk_<prefix>_<secret>`; the prefix is public, the secret is 256 bits."""

    prefix: str
    secret: str

    def __str__(self) -> str:
        return f"wsk_{self.prefix}_{self.secret}"

    @classmethod
    def parse(cls, text: str) -> ApiSecret | None:
        """Return the parts, or None when the text isn't shaped like a key."""
        found = KEY_PATTERN.match(text)
        return cls(found.group(1), found.group(2)) if found else None

    def digest(self) -> str:
        """Return what is stored: SHA-256 in hex. The secret is random, so no salt and no slow hash is needed."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def matches(self, digest: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self.digest(), digest)

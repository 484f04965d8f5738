"""The project's settings as the tests see them: nothing of a developer's own settings but where the database is.

A process that a test starts gets `WISDOM_TEST_DATABASE` and works on the database of that test.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

TEST_DATABASE = "WISDOM_TEST_DATABASE"
_KEPT = {"WA_DATABASE_DSN", "WA_DATABASE_OWNER_DSN", "WA_STATE_DIR", "WA_CHROMIUM"}

if TEST_DATABASE not in os.environ:
    for name in [name for name in os.environ if name.startswith("WA_") and name not in _KEPT]:
        del os.environ[name]
    # The fast embedder alone; a test that is about the other asks for it.
    os.environ["WA_EMBEDDER"] = "static"
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="wisdom-test-metrics-")
    atexit.register(shutil.rmtree, os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)

from wisdom_project.settings import *  # noqa: E402, F403  # the environment had to be set first
from wisdom_project.settings import DATABASES  # noqa: E402  # likewise

if TEST_DATABASE in os.environ:
    for database in DATABASES.values():
        database["NAME"] = os.environ[TEST_DATABASE]

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the tests sign in often

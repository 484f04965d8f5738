"""docs/settings.md says of every setting what it is called, what it is by default, and what it means."""

from __future__ import annotations

import re
from pathlib import Path

from core.configuration import PREFIX, PROJECT_ROOT, SECRET_FIELDS, WisdomSettings
from core.database_roles import FIXED

ROW = re.compile(r"\| `(WA_\w+)` \| (`[^`]+`|blank) \| (.+) \|")
PAGE = (PROJECT_ROOT / "docs" / "settings.md").read_text()
ROWS = {name: (default.strip("`"), meaning) for name, default, meaning in ROW.findall(PAGE)}


def _shown(value: object) -> str:
    if value is None or value == ():
        return "blank"
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_setting_is_on_the_page_with_its_default():
    real = {PREFIX + name.upper(): _shown(field.default) for name, field in WisdomSettings.model_fields.items()}

    assert {name: default for name, (default, _) in ROWS.items()} == real


def test_a_setting_is_described_once():
    names = [name for name, _, _ in ROW.findall(PAGE)]

    assert len(names) == len(set(names))


def test_the_page_says_which_are_secret_and_which_are_fixed():
    fields = {name: name.removeprefix(PREFIX).lower() for name in ROWS}

    assert {fields[name] for name, (_, meaning) in ROWS.items() if meaning.startswith("Secret.")} == SECRET_FIELDS
    assert {fields[name] for name, (_, meaning) in ROWS.items() if meaning.startswith("Fixed")} == set(FIXED)


def test_other_pages_name_only_settings_that_exist():
    known = set(ROWS) | {"WA_CHROMIUM"}
    pages = [*Path(PROJECT_ROOT).glob("*.md"), *Path(PROJECT_ROOT, "docs").rglob("*.md")]

    strangers = {name for page in pages for name in re.findall(r"\bWA_[A-Z0-9_]+\b", page.read_text())} - known

    assert strangers == set()

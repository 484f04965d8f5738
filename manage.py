#!/usr/bin/env python
"""Run a command of Wisdom: `python manage.py help` lists them."""

import gc
import os
import sys


def main() -> None:
    # The start makes some hundred thousand objects that stay; at Python's 700 they are looked through again and again.
    gc.set_threshold(50_000)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wisdom_project.settings")
    from core.configuration import BadSetting

    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except BadSetting as error:
        print(f"Wisdom can't start: {error}", file=sys.stderr)  # noqa: T201  # logging may not be set up yet
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()

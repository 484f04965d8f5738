"""The server's entrance: pages and APIs by HTTP. No socket is served yet, and one that knocks is told so."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wisdom_project.settings")

from django.core.asgi import get_asgi_application  # the settings had to be named first

_http = get_asgi_application()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve one connection."""
    if scope["type"] == "http":
        await _http(scope, receive, send)
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4404})

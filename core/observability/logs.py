"""One JSON object a line on standard error, with the correlation id of the request or task."""

from __future__ import annotations

import logging
import logging.config
from typing import Any

import orjson
import structlog

from core.configuration import WisdomSettings


def logging_configuration(settings: WisdomSettings) -> None:
    """Configure structlog and the standard library's loggers to speak with one voice."""

    def name_the_environment(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
        event["environment"] = settings.environment
        return event

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_the_environment,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.UnicodeDecoder(),
    ]
    renderers: list[Any]
    if settings.log_json:
        renderers = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=lambda event, **_: orjson.dumps(event, default=str).decode()),
        ]
    else:
        renderers = [structlog.dev.ConsoleRenderer(colors=False)]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "wisdom": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "wisdom"}},
            "root": {"handlers": ["stderr"], "level": settings.log_level},
            "loggers": {
                # Our own middleware logs each request once, with its route, status and duration.
                "daphne": {"level": "WARNING"},
                "django.channels.server": {"level": "ERROR"},
                "django.request": {"level": "ERROR"},
                "django.server": {"level": "ERROR"},
                "axes": {"level": "WARNING"},
                "django-q": {"level": "WARNING"},
                "psycopg.pool": {"level": "WARNING"},
                "twisted": {"level": "WARNING"},
                "asyncio": {"level": "WARNING"},
                "httpx2": {"level": "WARNING"},
                "httpcore2": {"level": "WARNING"},
            },
        }
    )

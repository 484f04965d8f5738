"""Django's settings, made from the one typed `WisdomSettings` object.

Anything missing or wrong stops the start (`core.configuration.BadSetting` names the variable).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from core.configuration import PROJECT_ROOT, load_settings, local_secret_key
from core.database_settings import databases
from core.observability.logs import logging_configuration

WISDOM = load_settings()
BASE_DIR = PROJECT_ROOT

# Counts live in memory-mapped files, so that those of a killed process are kept. Named before the library is imported.
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(WISDOM.state_dir / "metrics"))
Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).mkdir(parents=True, exist_ok=True)

SECRET_KEY = WISDOM.secret_key.get_secret_value() if WISDOM.secret_key else local_secret_key(WISDOM.state_dir)
DEBUG = False
ALLOWED_HOSTS = list(WISDOM.allowed_hosts) or ["localhost", "127.0.0.1", "[::1]", WISDOM.host]

# A web process serves many threads: it shares a pool. A command is one thread, a forking cluster may have none.
_COMMAND = sys.argv[1] if Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 else ""
SERVES_WEB = _COMMAND in {"serve", "demo"} or Path(sys.argv[0]).name == "daphne"

INSTALLED_APPS = [
    # Without its search for admin modules: a command needs none of them, and `urls` asks for it.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "django_q",
    "axes",
    "csp",
    "django_htmx",
    "core",
    "tenants",
    "feedback",
    "answering",
    "wisdom_project",
]

MIDDLEWARE = [
    "core.observability.correlation.CorrelationMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tenants.middleware.CallerMiddleware",
    "axes.middleware.AxesMiddleware",
    "wisdom_project.error_mapping.ErrorMiddleware",
]

ROOT_URLCONF = "wisdom_project.urls"
ASGI_APPLICATION = "wisdom_project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "tenants.context_processors.caller",
            ]
        },
    }
]

DATABASES: dict[str, Any] = databases(WISDOM, pooled=SERVES_WEB)
DATABASE_ROUTERS = ["core.database_settings.OwnerMigrates"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # What was counted in a corpus that hasn't changed since (decision 15): within the process.
    "counts": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "counts",
        "TIMEOUT": 3600,
        "OPTIONS": {"MAX_ENTRIES": 2_000},
    },
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "ask"
LOGOUT_REDIRECT_URL = "sign-in"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "tenants.views.too_many_attempts"
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ACCESS_FAILURE_LOG = False
AXES_VERBOSE = False

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = WISDOM.state_dir / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served from where they lie: collecting and compressing them is for a deployment, not for the first minute.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "wisdom_project.error_mapping.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if not WISDOM.is_local:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.api.authentication.CallerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tenants.api.permissions.ClosedUnlessStated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "wisdom_project.error_mapping.rest_exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Wisdom",
    "DESCRIPTION": "Answers about customer feedback, made only of claims checked against stored records.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.1",
}

Q_CLUSTER = {
    "name": "wisdom",
    "orm": "default",
    "workers": min(2, os.cpu_count() or 1),
    # `retry` must exceed the longest task, or it runs twice at once.
    "timeout": 900,
    "retry": 1200,
    "max_attempts": 3,
    "ack_failures": True,
    "catch_up": False,
    "poll": 0.5,
    "save_limit": 250,
    "label": "Background tasks",
    "error_reporter": {},
}

LOGGING_CONFIG = None
logging_configuration(WISDOM)

"""The whole URL map on one screen."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from answering.api.rest import AskView, MeasureView
from feedback.api.clusters import ClustersView, DuplicatesView, MergeView, ResetView, UnmergeView
from feedback.api.rest import DocumentsBatchView, JobView, SearchExplainView, SearchView
from wisdom_project import ops
from wisdom_project.error_mapping import page_not_found, server_error

admin.autodiscover()

rest = [
    path("ask", AskView.as_view(), name="rest-ask"),
    path("clusters", ClustersView.as_view(), name="rest-clusters"),
    path("clusters:merge", MergeView.as_view(), name="rest-clusters-merge"),
    path("clusters:reset", ResetView.as_view(), name="rest-clusters-reset"),
    path("clusters:unmerge", UnmergeView.as_view(), name="rest-clusters-unmerge"),
    # An id is whatever its sender uses: slashes are part of it.
    path("documents/<path:doc_id>/duplicates", DuplicatesView.as_view(), name="rest-duplicates"),
    path("documents:batch", DocumentsBatchView.as_view(), name="rest-documents-batch"),
    path("jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("measures/<str:query_id>", MeasureView.as_view(), name="rest-measure"),
    path("search/explain", SearchExplainView.as_view(), name="rest-search-explain"),
    path("search", SearchView.as_view(), name="rest-search"),
]

urlpatterns = [
    path("", include("tenants.urls")),
    path("", include("answering.urls")),
    path("", include("feedback.urls")),
    path("api/v1/", include(rest)),
    path("api/schema/", SpectacularAPIView.as_view(permission_classes=[], authentication_classes=[]), name="schema"),
    path("admin/", admin.site.urls),
    path("health", ops.health, name="health"),
    path("ready", ops.ready, name="ready"),
    path("metrics", ops.metrics, name="metrics"),
]

handler404 = page_not_found
handler500 = server_error

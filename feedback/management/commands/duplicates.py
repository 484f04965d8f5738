"""Show what a corpus says more than once."""

from __future__ import annotations

from typing import Any

from core.commands import WisdomCommand, positive_integer, readable_text
from core.tenant_session import tenant_session
from feedback.selectors.clusters import cluster_totals, list_clusters
from feedback.selectors.corpora import get_corpus
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = "Cluster the records that say the same in nearly the same words, and list the largest clusters."
    after_interrupt = "Stopped: what was clustered so far is stored, and the same command goes on from there."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )
        parser.add_argument(
            "--limit", type=positive_integer, default=20, help="at most so many clusters; 20 if not given"
        )
        parser.add_argument("--anew", action="store_true", help="cluster all records anew; what people decided is kept")

    def handle(self, *args: Any, **options: Any) -> None:
        from feedback.services import clustering  # numpy is for those who cluster

        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            corpus = get_corpus(tenant=tenant, slug=options["corpus"])
        if options["anew"]:
            clustering.recluster(corpus=corpus)
        progress = self.progress(f"records of {tenant.slug}/{corpus.slug}")
        try:
            done = clustering.cluster_waiting(tenant=tenant, corpus=corpus, progress=progress.update)
        finally:
            progress.finish()
        with tenant_session(tenant):
            totals = cluster_totals(corpus=corpus)
            clusters = list_clusters(corpus=corpus, limit=options["limit"])
        if self.as_json:
            self.document(
                {
                    "clustered": done.clustered,
                    "seconds": done.seconds,
                    "records": totals.records,
                    "distinct": totals.distinct,
                    "clusters": totals.clusters,
                    "lag": totals.lag,
                    "largest": [cluster.as_json() for cluster in clusters],
                }
            )
            return
        self.say(
            f"{totals.records:,} records, {totals.distinct:,} without near-duplicates;"
            f" {totals.clusters:,} clusters of more than one, {totals.lag:,} records wait."
        )
        for cluster in clusters:
            text = " ".join(cluster.text.split())[:60]
            self.say(
                f"{cluster.records:8,} records of {cluster.people:,} people  {text}  ({', '.join(cluster.doc_ids)})"
            )

"""Join clusters that people said are the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID


def joined(merges: Iterable[Collection[UUID]]) -> dict[UUID, UUID]:
    """Return the id that each merged cluster has together with those it was merged with, the least of them.

    Merges that share a cluster are one. A cluster that is merged with no other isn't in the result.
    """
    parents: dict[UUID, UUID] = {}

    def root(cluster: UUID) -> UUID:
        while parents[cluster] != cluster:
            parents[cluster] = parents[parents[cluster]]
            cluster = parents[cluster]
        return cluster

    for merge in merges:
        first: UUID | None = None
        for cluster in merge:
            parents.setdefault(cluster, cluster)
            if first is None:
                first = cluster
                continue
            one, other = root(first), root(cluster)
            parents[max(one, other)] = min(one, other)
    together = {cluster: root(cluster) for cluster in parents}
    shared = {found for cluster, found in together.items() if cluster != found}
    return {cluster: found for cluster, found in together.items() if found in shared}

"""What whoever runs the server needs: health, readiness and figures."""

from __future__ import annotations

import time
from collections.abc import Iterator

from starlette.responses import Response

from probewise.errors import ProbewiseError
from probewise.server.guard import BOUNDS
from probewise.server.site import Call, Refused, Way
from probewise.server.workers import Busy, Fault


async def health(call: Call) -> Response:
    """Whether the process answers."""
    return Response("ok\n", media_type="text/plain")


async def ready(call: Call) -> Response:
    """Whether it can do its work: processes run, and the campaigns can be listed."""
    site = call.site
    if site.live.stopping.is_set() or not site.workers.ready:
        return Response("not ready: starting or stopping\n", 503, media_type="text/plain")
    try:
        await site.live.shelf.signs()
    except (ProbewiseError, Busy, Fault, OSError):
        return Response("not ready: the campaigns cannot be reached\n", 503, media_type="text/plain")
    return Response("ready\n", media_type="text/plain")


async def metrics(call: Call) -> Response:
    """Figures, as Prometheus reads them."""
    if call.site.config.accounts and not call.who.may("see", "*"):
        raise Refused(403, "figures of the server need the role 'see' for all campaigns.")
    return Response("\n".join(_lines(call)) + "\n", media_type="text/plain; version=0.0.4")


def _lines(call: Call) -> Iterator[str]:
    site, tally = call.site, call.site.workers.tally
    yield "# TYPE probewise_requests_total counter"
    for (method, way, status), count in sorted(site.counts.answers.items()):
        yield f'probewise_requests_total{{method="{method}",way="{way}",status="{status}"}} {count}'
    yield "# TYPE probewise_request_seconds histogram"
    for way, row in sorted(site.counts.times.items()):
        for bound, below in zip(BOUNDS, row, strict=False):
            yield f'probewise_request_seconds_bucket{{way="{way}",le="{bound:g}"}} {below:g}'
        yield f'probewise_request_seconds_bucket{{way="{way}",le="+Inf"}} {row[-2]:g}'
        yield f'probewise_request_seconds_count{{way="{way}"}} {row[-2]:g}'
        yield f'probewise_request_seconds_sum{{way="{way}"}} {row[-1]:.6f}'
    figures: dict[str, float] = {
        "probewise_watching gauge": site.live.watching,
        "probewise_tasks_waiting gauge": tally.waiting,
        "probewise_tasks_total counter": tally.done,
        "probewise_workers_ended_total counter": tally.ended,
        "probewise_up_seconds gauge": round(time.monotonic() - site.began, 1),
    }
    for name, value in figures.items():
        yield f"# TYPE {name}"
        yield f"{name.partition(' ')[0]} {value}"


WAYS = (
    Way("GET", "/healthz", None, health, gives="text/plain"),
    Way("GET", "/readyz", None, ready, gives="text/plain"),
    Way("GET", "/metrics", "login", metrics, gives="text/plain"),
)

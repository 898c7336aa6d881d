"""The description of the interface (OpenAPI 3.1), made of the same table as the interface itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from probewise.server.site import Way

_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "kind": {"type": "string"}},
    "required": ["error", "kind"],
}
_STATUSES = {
    "400": "the request cannot be read",
    "401": "no login, or a token that is not valid",
    "403": "the role is too small, or the request comes from elsewhere",
    "404": "no such campaign, or not yours to see",
    "408": "the request took too long to arrive",
    "409": "there is one of that name already",
    "413": "too many bytes",
    "415": "not JSON",
    "421": "another host",
    "422": "what was sent cannot be done, and nothing was",
    "429": "too many tries",
    "503": "it took too long or cannot be reached; nothing acknowledged is lost",
}


def document(ways: Iterable[Way], server: str) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for way in ways:
        paths.setdefault(way.path, {})[way.method.lower()] = _operation(way)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "probewise",
            "version": version("probewise"),
            "description": "Campaigns for instruments: ask what to measure, tell the outcomes. Every answer that is no "
            "success has one sentence under error.",
        },
        "servers": [{"url": server}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(way: Way) -> dict[str, Any]:
    where = [
        _parameter(name, "path", {"type": "string", "maxLength": 200}) for name in re.findall(r"{(\w+)}", way.path)
    ]
    where += [_parameter(name, "query", shape) for name, shape in way.query.items()]
    success = "201" if way.need == "create" and way.path.endswith("/campaigns") else "200"
    errors = {
        code: {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
        for code, text in _STATUSES.items()
    }
    out: dict[str, Any] = {
        "summary": way.summary,
        "operationId": f"{way.method.lower()}-{way.path.rpartition('/')[2].strip('{}')}",
        "x-role": way.need,
        "parameters": where,
        "responses": {success: {"description": "done", "content": {way.gives: {}}}, **errors},
    }
    if way.method == "POST":
        key = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
        out["parameters"] = [*where, _parameter("Idempotency-Key", "header", key)]
        out["requestBody"] = {"required": True, "content": {"application/json": {"schema": way.body or {}}}}
    return out


def _parameter(name: str, place: str, shape: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": shape}

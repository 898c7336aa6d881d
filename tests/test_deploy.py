"""Dockerfile and compose file, as far as they can be checked without a daemon."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from probewise import cli
from probewise.server.app import WAYS
from probewise.server.config import STATE, Config

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "ENV", "HEALTHCHECK", "STOPSIGNAL", "CMD"}


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_image_runs_a_command_that_there_is_and_is_not_root() -> None:
    found = instructions()
    assert {word for word, _ in found} == KNOWN
    own = dict(found)
    environment = dict(part.split("=", 1) for part in shlex.split(own["ENV"]))
    shell = json.loads(own["CMD"])[-1]
    words = shlex.split(re.sub(r"\$(\w+)", lambda name: environment[name[1]], shell))
    assert words[:3] == ["exec", "probewise", "serve"]
    given = cli.loaded("serve").make_context("serve", words[3:]).params
    config = Config(given["place"], given["host"], given["port"], given["url"], None, None, given["behind_proxy"])
    assert config.accounts
    assert str(config.state_file) == environment["PROBEWISE_STATE"] == f"/campaigns/{STATE}"
    assert own["EXPOSE"] == str(config.port)
    order = [word for word, _ in found]
    assert own["USER"] == "probewise"
    assert order.index("USER") < order.index("CMD")
    for copied in [part for word, text in found if word == "COPY" for part in text.split()[:-1]]:
        assert (ROOT / copied).exists()
    extras = re.findall(r"'\.\[([\w,]+)\]'", own["RUN"])[0].split(",")
    assert set(extras) <= set(EXTRAS)
    health = re.findall(r"127\.0\.0\.1:8017(/\w+)", own["HEALTHCHECK"])
    assert {(way.method, way.need) for way in WAYS if way.path in health} == {("GET", None)}


def test_the_services_fit_together() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = found["services"]
    environment = dict(part.split("=", 1) for part in shlex.split(dict(instructions())["ENV"]))
    server = services["server"]
    assert set(server["environment"]) == set(environment)
    place = server["environment"]["PROBEWISE_PLACE"].replace("${POSTGRES_PASSWORD}", "secret")
    url = server["environment"]["PROBEWISE_URL"].partition("$")[0] + "lab.example.org"
    config = Config(
        place, "0.0.0.0", 8017, url, behind_proxy=True, state=Path(server["environment"]["PROBEWISE_STATE"])
    )
    assert config.is_database
    assert "secret" not in config.shown
    assert f"@{next(iter(services))}/" in place  # the database is called what the address says
    assert services["proxy"]["command"].endswith("--to server:8017")
    for own in services.values():
        assert set(own.get("networks", ())) <= set(found["networks"])
        assert {volume.partition(":")[0] for volume in own["volumes"]} <= set(found["volumes"])
        assert "ports" not in own or own is services["proxy"]  # only the proxy can be reached
    assert found["networks"]["inside"] == {"internal": True}

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory, storage_at, verify
from probewise.cli import main
from probewise.cli.choices import build

TOY = '''
from __future__ import annotations

from dataclasses import dataclass

from probewise.algorithms import Uniform
from probewise.campaign import Memory

STORES = {}


@dataclass(frozen=True)
class Toy(Uniform):
    """Uniform under another name."""

    name = "toy"


class Nameless(Toy):
    """Its name is that of another one."""


def shelf(url):
    return STORES.setdefault(url, Memory())


def leaky(url):
    raise RuntimeError(url)


def nothing(url):
    return None
'''
POINTS = """[probewise.algorithms]
toy = toy_house:Toy
namesake = toy_house:Nameless
plain = toy_house:shelf
absent = toy_house:Absent
broken = toy_ruin:Toy

[probewise.storages]
shelf = toy_house:shelf
leaky = toy_house:leaky
nothing = toy_house:nothing
"""

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def add(name: str, points: str) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(tmp_path)

    return add


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Install) -> None:
    (tmp_path / "toy_house.py").write_text(TOY)
    (tmp_path / "toy_ruin.py").write_text("1 / 0")
    install("toy-house", POINTS)
    monkeypatch.delitem(sys.modules, "toy_house", raising=False)


def problem() -> pw.Problem:
    return pw.Problem(np.eye(2), np.eye(2), sigma=0.1)


@pytest.mark.usefixtures("house")
def test_algorithm_of_another_package_is_built_kept_and_read_back() -> None:
    assert build("toy,growth=1.5").growth == 1.5  # type: ignore[attr-defined]
    store = Memory()
    campaign = pw.Campaign.create(store, problem(), algorithm=build("toy"), seed=1)
    campaign.tell({row["measurement"]: float(row["probe"] == "0") for row in campaign.ask()})
    again = pw.Campaign.open(store)
    assert again.algorithm == campaign.algorithm
    assert again.algorithm.name == "toy"
    assert verify(store).digest == campaign.status().digest


@pytest.mark.usefixtures("house")
def test_storage_of_another_package_takes_a_campaign() -> None:
    pw.Campaign.create("shelf://first", problem(), seed=1)
    assert storage_at("shelf://first") is storage_at("shelf://first")
    assert pw.Campaign.open("shelf://first").problem.n_items == 2
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        pw.Campaign.open("shelf://second")


@pytest.mark.usefixtures("house")
def test_list_shows_other_packages_and_what_is_wrong_with_them() -> None:
    done = CliRunner().invoke(main, ["list", "--json"])
    rows = {row["name"]: row for row in json.loads(done.output)["algorithms"]}
    assert {*pw.ALGORITHMS, "toy", "broken"} <= set(rows)
    assert rows["toy"]["summary"] == pw.Uniform.summary
    assert "from the package toy-house: it cannot be loaded (ZeroDivisionError" in rows["broken"]["summary"]


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("broken", r"'broken' of probewise.algorithms, from the package toy-house: it cannot be loaded \(ZeroDivision"),
        ("absent", r"it cannot be loaded \(AttributeError: .*fix that package or remove it"),
        ("plain", "it must be a dataclass derived from Algorithm, got <function shelf"),
        ("namesake", "its class calls itself 'toy', and the names must agree"),
    ],
)
def test_wrong_algorithm_of_another_package_is_a_sentence(name: str, match: str) -> None:
    with pytest.raises(pw.InvalidExtension, match=match):
        build(name)


@pytest.mark.usefixtures("house")
def test_wrong_storage_of_another_package_is_a_sentence_without_the_url() -> None:
    with pytest.raises(pw.InvalidExtension, match=r"it cannot open a URL \(RuntimeError\)") as caught:
        storage_at("leaky://lab:secret@server")
    assert "secret" not in str(caught.value)
    with pytest.raises(pw.InvalidExtension, match="it must give a Storage, got an object of NoneType"):
        storage_at("nothing://server")


@pytest.mark.usefixtures("house")
def test_a_name_that_two_packages_add_is_refused(install: Install) -> None:
    install("toy-hut", "[probewise.algorithms]\ntoy = toy_hut:Toy\n")
    with pytest.raises(pw.InvalidExtension, match="by the package toy-house and the package toy-hut, so it"):
        build("toy")


def test_without_the_package_its_campaign_is_refused(house: None, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory()
    pw.Campaign.create(store, problem(), algorithm=build("toy"), seed=1)
    monkeypatch.setattr("probewise.extensions.extension", lambda group, name: None)
    with pytest.raises(pw.InvalidCampaign, match=r"does not know the algorithm 'toy' .*or the package, that created"):
        pw.Campaign.open(store)


def test_names_of_the_registry_load_no_extension(install: Install) -> None:
    install("thief", "[probewise.algorithms]\nsage = thief:Sage\n[probewise.storages]\npostgresql = thief:open\n")
    assert type(build("sage")) is pw.Sage
    with pytest.raises((pw.InvalidCampaign, pw.MissingExtra), match=r"cannot be read for certain|psycopg"):
        storage_at("postgresql://a@b@c/d")

from __future__ import annotations

import runpy
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Serving

import probewise as pw
from probewise.client import TOKEN, Remote, Web, web
from probewise.data import copy_example, fill_outcomes
from probewise.data.example import SIGMA

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    begun = Serving(tmp_path_factory.mktemp("lab"))
    yield begun
    begun.stop()


@pytest.fixture
def local(serving: Serving, tmp_path: Path, request: pytest.FixtureRequest) -> pw.Campaign:
    items, probes = copy_example(tmp_path)
    problem = pw.Problem.from_tables(probes, items, sigma=SIGMA)
    path = Path(serving.place) / f"{request.node.name}.campaign"
    return pw.Campaign.create(path, problem, seed=0, outcome_name="yield", unit="%")


def remote(serving: Serving, local: pw.Campaign) -> pw.Campaign:
    return pw.Campaign.open(web(f"{serving.url}/c/{Path(local._store.name).name}"))


def test_a_campaign_on_a_server_has_the_methods_of_any_other(
    serving: Serving, local: pw.Campaign, tmp_path: Path
) -> None:
    far = remote(serving, local)
    assert isinstance(far, Remote)
    rows = far.ask(due="2030-01-01")
    assert rows.to_csv() == local.ask().to_csv()
    rows.to_csv(tmp_path / "s.csv")
    fill_outcomes(tmp_path / "s.csv", tmp_path / "s.csv")
    assert far.tell(tmp_path / "s.csv", dry_run=True).sentence == "24 recorded (dry run: nothing was written)."
    assert len(local.records) == 2
    told = far.tell(tmp_path / "s.csv")
    assert (len(told.recorded), told.sentence.partition(".")[0]) == (24, "24 recorded")
    assert far.tell(tmp_path / "s.csv").repeated == told.recorded
    assert far.correct("r1-1", 50.0, reason="scale").startswith("r1-1 is 50.0 now.")
    assert far.void(["r1-2"], reason="spilled").startswith("Voided.")
    far.note("from far")
    far.restock("XPhos, THF, 60", 9, reason="few")
    assert far.tell([{"probe": "XPhos, THF, 60", "outcome": 60.5}], off_plan=True).recorded
    assert far.status().to_json() == local.status().to_json()
    assert far.records == local.records
    far.report(tmp_path / "r.html")
    far.export(tmp_path / "copy.jsonl")
    assert pw.Campaign.open(tmp_path / "copy.jsonl").status().digest == local.status().digest


def test_what_a_server_refuses_is_raised_here(serving: Serving, local: pw.Campaign) -> None:
    far = remote(serving, local)
    far.ask()
    with pytest.raises(pw.InvalidRows, match="expected a number"):
        far.tell({"r1-1": "x"})
    far.tell({"r1-1": 1.0})
    stale = remote(serving, local)
    local.tell({"r1-2": 2.0})
    with pytest.raises(pw.InvalidRows, match=r"has 2\.0 on record"):
        stale.tell({"r1-2": 3.0})
    with pytest.raises(pw.InvalidRows, match="never asked for"):
        far.correct("r9-1", 3.0, reason="x")
    assert far.close(reason="away").startswith("The round is closed.")
    with pytest.raises(pw.InvalidRows, match="needs a reason"):
        far.void("r1-1", reason=" ")
    with pytest.raises(pw.InvalidCampaign, match="no such campaign"):
        pw.Campaign.open(web(f"{serving.url}/c/nothing.campaign"))
    with pytest.raises(pw.InvalidCampaign, match="the login is the author"):
        pw.Campaign.open(web(far._store.name), author="boss")
    with pytest.raises(pw.InvalidCampaign, match="writes its records itself"):
        pw.Campaign.create(web(f"{serving.url}/c/new.campaign"), local.problem)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("https://lab.example.org/other", "that of its page"),
        ("https://user:pw@lab.example.org/c/a", "that of its page"),
        ("http://lab.example.org/c/a", "must not travel in the clear"),
    ],
)
def test_addresses_that_are_none(url: str, sentence: str) -> None:
    with pytest.raises(pw.InvalidCampaign, match=sentence):
        web(url)


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probewise.client.time.sleep", lambda seconds: None)
    with pytest.raises(pw.StorageUnavailable, match="gives no answer"):
        web("http://127.0.0.1:9/c/a").read()


def test_the_token_stays_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "pw_secret")
    own = web("https://lab.example.org/c/a%20b.campaign")
    assert isinstance(own, Web)
    assert "pw_secret" not in repr(own) + own.name
    assert own.address == "https://lab.example.org/api/v1/campaigns/a%20b.campaign"


def test_page_commands_and_client_share_one_state(serving: Serving) -> None:
    from server_histories import STEPS, History

    history = History(serving, 3)
    for _ in range(STEPS):
        history.step()
    history.check()
    assert {key.partition(" ")[0] for key in history.done} >= {"page", "command", "client"}


def test_the_package_declares_what_opens_such_addresses() -> None:
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["probewise.storages"]
    for scheme in ("http", "https"):
        assert EntryPoint(scheme, declared[scheme], "probewise.storages").load() is web


def test_the_instrument_of_the_examples(serving: Serving, local: pw.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    own = runpy.run_path(str(ROOT / "examples" / "instrument.py"))
    far = remote(serving, local)
    monkeypatch.setattr(pw.Campaign, "open", lambda path: far)
    assert "is the best item in yield" in own["measure"](f"{serving.url}/c/x.campaign", seed=1)
    assert local.status().item is not None

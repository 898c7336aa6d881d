"""A plate reader that asks what to measure and tells what it read, in a loop, over the network.

Run a server (``probewise serve lab``) with a campaign made of the two tables of ``probewise example lab``, then

    python examples/instrument.py http://127.0.0.1:8017/c/yield.campaign

Without an address it does all of that by itself, on this computer and in a folder that goes. The reader is simulated:
it knows the true yields of the example, and adds noise.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import probewise as pw
from probewise.data import copy_example
from probewise.data.example import SIGMA, true_yields


def read(probe: str, truth: dict[str, float], noise: random.Random) -> float:
    """What the instrument reads of one well."""
    return round(truth[probe] + noise.gauss(0.0, SIGMA), 2)


def measure(address: str, *, wells: int = 8, seed: int = 0) -> str:
    """Ask and tell, a strip of wells at a time, until there is nothing to ask for; the sentence at the end."""
    campaign, truth, noise = pw.Campaign.open(address), true_yields("probes.csv"), random.Random(seed)
    while rows := campaign.ask():
        todo = list(rows)
        for start in range(0, len(todo), wells):
            strip = todo[start : start + wells]
            told = campaign.tell({row["measurement"]: read(row["probe"], truth, noise) for row in strip})
            print(f"round {strip[0]['round']}, wells {start + 1} to {start + len(strip)}: {told.sentence}")
    return campaign.status().sentence


def alone() -> str:
    """A server, a campaign and the instrument."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        items, probes = copy_example(Path(folder))
        problem = pw.Problem.from_tables(probes, items, sigma=SIGMA)
        pw.Campaign.create(Path(folder) / "yield.campaign", problem, seed=0, outcome_name="yield", unit="%")
        server = subprocess.Popen([sys.executable, "-m", "probewise", "serve", folder, "--port", port])
        try:
            for _ in range(300):
                try:
                    urlopen(f"http://127.0.0.1:{port}/readyz").close()
                    break
                except (URLError, OSError):
                    time.sleep(0.1)
            return measure(f"http://127.0.0.1:{port}/c/yield.campaign")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    print(measure(sys.argv[1]) if len(sys.argv) > 1 else alone())

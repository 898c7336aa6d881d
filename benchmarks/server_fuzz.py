"""The interface of the server, fuzzed from its own description by schemathesis: no answer may be a fault of the server.

python benchmarks/server_fuzz.py --examples 200
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from _serving import Serving

import probewise as pw


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    own = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder) / "lab"
        lab.mkdir()
        problem = pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], sigma=1.0, probe_names=["a", "b", "c"])
        campaign = pw.Campaign.create(lab / "fuzz.campaign", problem, seed=0)
        campaign.ask()
        campaign.tell({"r1-1": 1.0})
        log = Path(folder) / "log"
        serving = Serving(lab, log=log)
        # names are fuzzed too, but most requests should find a campaign
        settings = Path(folder) / "schemathesis.toml"
        settings.write_text('[parameters]\n"path.name" = "fuzz.campaign"\n')
        try:
            for fixed in (True, False):
                command = [str(Path(sys.executable).parent / "schemathesis")]
                command += ["--config-file", str(settings)] if fixed else []
                command += ["run", f"{serving.url}/api/v1/openapi.json", "--checks", "not_a_server_error"]
                command += ["--max-examples", str(own.examples if fixed else max(5, own.examples // 5))]
                command += ["--seed", str(own.seed), "--exclude-path-regex", "events$", "--request-timeout", "120"]
                done = subprocess.run(command, cwd=folder)
                if done.returncode:
                    print(*[line for line in log.read_text().splitlines() if '"status": 5' in line][:20], sep="\n")
                    print(*log.read_text().partition("Traceback")[2].splitlines()[:60], sep="\n")
                    return 1
        finally:
            serving.stop()
        pw.Campaign.open(lab / "fuzz.campaign").status()  # still sound
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What one account for each pattern of sides saves: python benchmarks/sides.py [--runs 100].

Items above a limit, or better than a control, found by Sage with one account for each pattern (docs/sides.md) and with
one for each claim, at δ = 0.05 and normal noise of which only the scale is assumed, or that it is normal.
"""

from __future__ import annotations

import argparse

import numpy as np

import probewise as pw

NEAR, FAR = 0.5, 2.0


def around(near: int, far: int) -> np.ndarray:
    """Values on both sides of 0, some of them near."""
    return np.array([NEAR * (-1) ** i for i in range(near)] + [FAR * (-1) ** i for i in range(far)])


def cases(normal: bool) -> dict[str, tuple[pw.Problem, np.ndarray, pw.Goal]]:
    """Problems, what is true, and questions."""
    law, rng = pw.Gaussian(1.0, normal=normal), np.random.default_rng(0)
    linear, theta = rng.standard_normal((40, 6)), rng.standard_normal(6)
    values = np.sort(linear @ theta)[10:30]
    widest = int(np.argmax(np.diff(values)))
    limit = float(values[widest : widest + 2].mean())
    found: dict[str, tuple[pw.Problem, np.ndarray, pw.Goal]] = {
        f"{near} of {near + far} near": (
            pw.Problem(np.eye(near + far), outcome=law),
            around(near, far),
            pw.Above(0.0),
        )
        for near, far in ((1, 0), (2, 0), (5, 0), (20, 0), (1, 19), (5, 15), (5, 95))
    }
    found["40 linear items"] = pw.Problem(linear, outcome=law), theta, pw.Above(limit)
    control = pw.Problem(np.eye(8), item_names=[*"abcdefgh"], outcome=law)
    found["8, and a control"] = control, np.array([0, 0.8, -0.8, 0.8, -0.8, 1.5, 1.5, -2]), pw.BetterThan("a")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    for normal in (False, True):
        print(f"{runs} runs, {'normal noise' if normal else 'sub-Gaussian noise'}: claims, patterns, ratio")
        for name, (problem, theta, goal) in cases(normal).items():
            means, errors, wrong = [], [], []
            for sides in (False, True):
                table = pw.simulate(problem, theta, pw.Sage(sides=sides, lean=True), goal, runs=runs, seed=1)
                taken = np.array(table["measurements"])
                means.append(taken.mean())
                errors.append(taken.std(ddof=1) / np.sqrt(runs))
                wrong.append(int((~np.array(table["correct"])).sum()))
            ratio = means[1] / means[0]
            spread = ratio * np.hypot(errors[0] / means[0], errors[1] / means[1])
            shown = ", ".join(f"{mean:8,.0f} ± {error:,.0f}" for mean, error in zip(means, errors, strict=True))
            print(f"  {name:18} {shown}, {ratio:.2f} ± {spread:.2f}; {wrong[0]} and {wrong[1]} wrong", flush=True)


if __name__ == "__main__":
    main()

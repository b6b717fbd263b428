"""The table and the picture of a race, from its JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = (
    ("ours", "ours_us"), ("stanli", "stanli_us"), ("ratio", "ratio"),
    ("cold", "ours_cold_s"), ("warm", "ours_warm_s"), ("stanli's first", "stanli_cold_s"),
)  # fmt: skip
SAMPLED = (
    ("draws/s", "ours_ess_s"), ("stanli's draws/s", "stanli_ess_s"),
    ("effective", "ours_ess"), ("stanli's effective", "stanli_ess"),
    ("seconds", "ours_draws_s"), ("stanli's seconds", "stanli_draws_s"),
    ("runs", "runs"),
)  # fmt: skip

Columns = tuple[tuple[str, str], ...]


def read(folder: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The machine, and a line for each posterior."""
    head, *lines = map(json.loads, (folder / "race.jsonl").read_text().splitlines())
    return head["machine"], lines


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def summary(lines: list[dict[str, Any]]) -> str:
    ratios = np.array([line["ratio"] for line in lines if "ratio" in line])
    failed = sum("failed" in line for line in lines)
    if not len(ratios):
        return f"0 posteriors, {failed} failed."
    cold = [line["ours_cold_s"] for line in lines if "ours_cold_s" in line]
    warm = [line["ours_warm_s"] for line in lines if "ours_warm_s" in line]
    mean = np.exp(np.log(ratios).mean())
    text = (
        f"{len(ratios)} posteriors, {failed} failed. Our time over stanli's for a value and its "
        f"gradient: geometric mean {mean:.2f}, median {np.median(ratios):.2f}, "
        f"{np.sum(ratios > 1)} above 1."
    )
    if not cold:
        return text
    return (
        f"{text} First gradient, of {len(cold)} posteriors: cold "
        f"{np.median(cold):.2f} s in the median and {max(cold):.1f} s at worst, warm "
        f"{np.median(warm):.2f} s."
    )


def when(lines: list[dict[str, Any]]) -> str:
    """The day on which lines were measured, or the first and the last."""
    days = sorted({line["date"] for line in lines})
    return " to ".join(dict.fromkeys([days[0], days[-1]]))


def circumstances(machine: dict[str, str], lines: list[dict[str, Any]]) -> str:
    """When and where lines were measured, and how much the machine had to do."""
    loads = [line["load"] for line in lines]
    load = f"load {min(loads)} to {max(loads)}, {np.median(loads):.1f} in the median"
    return "; ".join([when(lines), *machine.values(), load])


def rows(lines: list[dict[str, Any]], columns: Columns, note: str) -> list[str]:
    """A table: a row for each line, with a note at its end."""
    names = ["posterior", "dim", *(title for title, _ in columns), ""]
    found = [f"| {' | '.join(names)} |", "|---|" + "---:|" * (len(names) - 2) + "---|"]
    for line in lines:
        cells = [number(line.get(key)) for _, key in columns]
        cells = [line["posterior"], str(line.get("dim", "")), *cells, line.get(note, "")]
        found.append(f"| {' | '.join(cells)} |")
    return found


def sampled(lines: list[dict[str, Any]]) -> list[str]:
    """The table of samplers and what it says in the middle; nothing if nothing was drawn."""
    lines = [line for line in lines if "ours_ess_s" in line or "sampling" in line]
    both = [line for line in lines if "ours_ess_s" in line]
    if not both:
        return []

    def times(key: str) -> str:
        quotients = np.array([line[f"ours_{key}"] / line[f"stanli_{key}"] for line in both])
        return f"{np.exp(np.log(quotients).mean()):.2f}"

    text = (
        f"Samplers on {len(both)} posteriors, ours over stanli's, geometric means: effective draws "
        f"per second {times('ess_s')}, effective draws {times('ess')}, seconds {times('draws_s')}."
    )
    lines = sorted(lines, key=lambda x: x.get("ours_ess_s", 0) / x.get("stanli_ess_s", 1))
    return [text, "", *rows(lines, SAMPLED, "sampling"), ""]


def markdown(folder: Path) -> str:
    machine, lines = read(folder)
    lines = sorted(lines, key=lambda line: -line.get("ratio", np.inf))
    about = [summary(lines), "", f"{circumstances(machine, lines)}.", ""]
    return "\n".join([*about, *rows(lines, COLUMNS, "failed"), "", *sampled(lines)])


def picture(folder: Path) -> None:
    """A bar for each posterior: our time over stanli's."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    machine, lines = read(folder)
    lines = sorted((x for x in lines if "ratio" in x), key=lambda x: x["ratio"])
    names, ratios = [x["posterior"].split("-", 1)[1] for x in lines], [x["ratio"] for x in lines]
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.17 * len(lines)), layout="constrained")
    colours = ["#b5432e" if ratio > 1 else "#33658a" for ratio in ratios]
    axes.barh(range(len(lines)), ratios, color=colours)
    axes.set_yticks(range(len(lines)), names, fontsize=7)
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("time of a value and gradient, over that of stanli")
    axes.set_title(f"{machine['processor']}, {when(lines)}", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "race.png", dpi=110)
    plt.close(figure)


def write(folder: Path) -> None:
    (folder / "race.md").write_text(markdown(folder))
    if any("ratio" in line for line in read(folder)[1]):
        picture(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

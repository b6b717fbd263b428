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

BESIDE = (
    ("ours", "ours_us"), ("PyMC", "pymc_us"), ("NumPyro", "numpyro_us"),
    ("over PyMC", "pymc_ratio"), ("over NumPyro", "numpyro_ratio"),
    ("PyMC's first", "pymc_cold_s"), ("NumPyro's first", "numpyro_cold_s"),
)  # fmt: skip
PEERS = {"pymc": "PyMC", "numpyro": "NumPyro"}

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


def beside(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured of PyMC and NumPyro, where we win least first, failures before them."""
    found = []
    for line in lines:
        if "peers" not in line:
            continue
        peers, notes = line["peers"], []
        flat = {"posterior": line["posterior"], "dim": line.get("dim", ""), **peers}
        for who, title in PEERS.items():
            flat |= {f"{who}_{key}": value for key, value in peers.get(who, {}).items()}
            if f"{who}_failed" in flat:
                notes.append(f"{title}: {flat[f'{who}_failed']}")
        found.append(flat | {"note": "; ".join(notes)})

    def worst(line: dict[str, Any]) -> float:
        ratios = [line[f"{who}_ratio"] for who in PEERS if f"{who}_ratio" in line]
        return np.inf if line["note"] else max(ratios)

    return sorted(found, key=lambda line: -worst(line))


def peers(lines: list[dict[str, Any]]) -> list[str]:
    """The table beside PyMC and NumPyro and what it says in the middle; nothing without any."""
    lines = beside(lines)
    if not lines:
        return []
    means = []
    for who, title in PEERS.items():
        ratios = np.array([line[f"{who}_ratio"] for line in lines if f"{who}_ratio" in line])
        if len(ratios):
            mean, above = np.exp(np.log(ratios).mean()), np.sum(ratios > 1)
            means.append(f"{title} {mean:.3f} (of {len(ratios)}, {above} above 1)")
    text = (
        f"Beside PyMC and NumPyro on {len(lines)} posteriors, our time over theirs for a value and "
        f"its gradient, geometric means: {', '.join(means)}. {circumstances({}, lines)}."
    )
    return [text, "", *rows(lines, BESIDE, "note"), ""]


def markdown(folder: Path) -> str:
    machine, lines = read(folder)
    stans = sorted(
        (line for line in lines if "date" in line), key=lambda line: -line.get("ratio", np.inf)
    )
    if not stans:
        return "\n".join([f"{'; '.join(machine.values())}.", "", *peers(lines)])
    text = [summary(stans), "", f"{circumstances(machine, stans)}.", ""]
    return "\n".join([*text, *rows(stans, COLUMNS, "failed"), "", *sampled(stans), *peers(lines)])


def bars(axes: Any, lines: list[dict[str, Any]]) -> None:
    """A bar for each posterior: our time over stanli's."""
    ratios = [x["ratio"] for x in lines]
    colors = ["#b5432e" if ratio > 1 else "#33658a" for ratio in ratios]
    axes.barh(range(len(lines)), ratios, color=colors)
    label(axes, lines, "time of a value and gradient, over that of stanli")


def peer_bars(axes: Any, lines: list[dict[str, Any]]) -> None:
    """Two bars for each posterior: our time over PyMC's and over NumPyro's."""
    for k, (who, color) in enumerate(zip(PEERS, ("#33658a", "#d9a441"), strict=True)):
        ratios = {i: x[f"{who}_ratio"] for i, x in enumerate(lines) if f"{who}_ratio" in x}
        places = [i + 0.2 - 0.4 * k for i in ratios]
        axes.barh(places, list(ratios.values()), 0.4, color=color, label=PEERS[who])
    axes.legend(frameon=False, fontsize=7, loc="lower right", bbox_to_anchor=(0.94, 0))
    label(axes, lines, "time of a value and gradient, over those of PyMC and NumPyro")


def label(axes: Any, lines: list[dict[str, Any]], text: str) -> None:
    axes.set_yticks(range(len(lines)), [x["posterior"].split("-", 1)[1] for x in lines], fontsize=7)
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel(text)
    axes.spines[["top", "right"]].set_visible(False)


def picture(folder: Path) -> None:
    """Our times over stanli's, and under them those over PyMC's and NumPyro's where there are."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    machine, lines = read(folder)
    panels = [
        (bars, sorted((x for x in lines if "ratio" in x), key=lambda x: x["ratio"]), 0.17),
        (peer_bars, beside(lines)[::-1], 0.25),
    ]
    panels = [panel for panel in panels if panel[1]]
    heights = [0.8 + each * len(found) for _, found, each in panels]
    figure, axes = plt.subplots(
        len(panels),
        figsize=(8, 0.4 + sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for (draw, found, _), place in zip(panels, axes[:, 0], strict=True):
        draw(place, found)
        place.set_title(f"{machine['processor']}, {when(found)}", fontsize=8)
    figure.savefig(folder / "race.png", dpi=110)
    plt.close(figure)


def write(folder: Path) -> None:
    (folder / "race.md").write_text(markdown(folder))
    if any("ratio" in line or "peers" in line for line in read(folder)[1]):
        picture(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

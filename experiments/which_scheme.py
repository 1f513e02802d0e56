#!/usr/bin/env python3
"""Which scheme on which machine: the planner over a grid, as a map and a page.

    python3 experiments/which_scheme.py build/chimera

GPT-2 of 64 layers on V100s, whose links and memory vary. Every cell is one
`chimera plan`: for each scheme the best depth, width, micro-batch and
recomputation that fit. Writes docs/which-scheme.md and the map beside it,
docs/images/which-scheme.svg.
"""
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCHEMES = "chimera,planned,zb-v,interleaved,1f1b"
WORKERS = (8, 32)
MEMORY = (8, 16, 32)             # GB of a worker
LINKS = (0.5, 2, 8, 32, 128)     # GB/s, latency 10 us
SAMPLES = (1, 4, 16)             # of a step, for each worker
COLOURS = {"Chimera": "#d29922", "planned, two pipes": "#1f6feb",
           "planned, vee": "#2da44e", "ZB-V": "#7ee787",
           "planned, one pipe": "#79c0ff", "interleaved": "#a371f7",
           "1F1B": "#8b949e", "nothing fits": "#ffffff"}


def profile(link):
    text = (ROOT / "src/chimera/plan/profiles/v100.toml").read_text()
    return re.sub(r"(\[link\]\n)(?:\w.*\n)+",
                  rf"\1latency_us = 10\ngb_per_s = {link}\n", text)


def family(plan):
    if plan["scheme"] != "planned":
        return {"chimera": "Chimera", "zb-v": "ZB-V",
                "interleaved": "interleaved", "1f1b": "1F1B"}[plan["scheme"]]
    if plan["pipes"] > 1:
        return "planned, two pipes"
    return "planned, vee" if plan["shape"] == "vee" else "planned, one pipe"


def plan(binary, folder, cell):
    workers, memory, link, samples = cell
    path = Path(folder) / f"{link}.toml"
    done = subprocess.run(
        [binary, "plan", "--model", "gpt2-64", "--workers", str(workers),
         "--batch", str(workers * samples), "--memory", f"{memory}GB",
         "--profile", str(path), "--schemes", SCHEMES, "--format", "json"],
        capture_output=True, text=True)
    if done.returncode != 0:
        return None
    plans = json.loads(done.stdout)["plans"]
    times = {each["scheme"]: each["step_s"] for each in plans}
    best = plans[0]
    others = [each["step_s"] for each in plans[1:]]
    return dict(winner=family(best), depth=best["depth"],
                recompute=best["recompute"],
                over_next=min(others) / best["step_s"] if others else None,
                over_1f1b=times["1f1b"] / best["step_s"]
                if "1f1b" in times else None,
                over_chimera=times["chimera"] / best["step_s"]
                if "chimera" in times else None)


def drawn(cells):
    wide, high, left, top, gap = 64, 34, 150, 70, 40
    panel = len(LINKS) * wide
    width = left + len(SAMPLES) * (panel + gap)
    height = top + len(WORKERS) * (len(MEMORY) * high + 64) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           '<text x="16" y="26" font-size="16">The fastest scheme for GPT-2 '
           '(64 layers), and how much faster than 1F1B</text>']
    for row, workers in enumerate(WORKERS):
        y = top + row * (len(MEMORY) * high + 64)
        for column, samples in enumerate(SAMPLES):
            x = left + column * (panel + gap)
            out.append(f'<text x="{x}" y="{y - 8}" font-weight="bold">{workers} '
                       f'workers, {samples} sample{"s" * (samples > 1)} for each'
                       '</text>')
            for i, memory in enumerate(MEMORY):
                if column == 0:
                    out.append(f'<text x="{left - 10}" y="{y + i * high + 22}" '
                               f'text-anchor="end">{memory} GB a worker</text>')
                for j, link in enumerate(LINKS):
                    out += cell_of(cells[workers, memory, link, samples],
                                   x + j * wide, y + i * high, wide, high)
            for j, link in enumerate(LINKS):
                out.append(f'<text x="{x + j * wide + wide / 2}" '
                           f'y="{y + len(MEMORY) * high + 16}" '
                           f'text-anchor="middle">{link:g} GB/s</text>')
    x = left
    won = {cell["winner"] for cell in cells.values() if cell}
    for name, colour in COLOURS.items():
        if name not in won and not (name == "nothing fits" and
                                    None in cells.values()):
            continue
        out.append(f'<rect x="{x}" y="{height - 32}" width="14" height="14" '
                   f'fill="{colour}" stroke="#57606a"/>'
                   f'<text x="{x + 20}" y="{height - 20}">{name}</text>')
        x += 34 + 8 * len(name)
    return "\n".join(out) + "\n</svg>\n"


def cell_of(cell, x, y, wide, high):
    name = cell["winner"] if cell else "nothing fits"
    lines = [f'<rect x="{x}" y="{y}" width="{wide - 2}" height="{high - 2}" '
             f'fill="{COLOURS[name]}" stroke="#d0d7de"/>']
    if cell and cell["over_1f1b"]:
        lines.append(f'<text x="{x + wide / 2 - 1}" y="{y + 21}" '
                     'text-anchor="middle" fill="#0d1117">'
                     f'{cell["over_1f1b"]:.2f} x</text>')
    return lines


def table(cells):
    won = Counter(cell["winner"] for cell in cells.values() if cell)
    lines = ["| fastest | cells | over 1F1B | over Chimera | over the next scheme"
             " |", "|---|---|---|---|---|"]
    for name, count in won.most_common():
        mine = [cell for cell in cells.values() if cell and
                cell["winner"] == name]
        def spread(key):
            values = [cell[key] for cell in mine if cell[key]]
            if not values:
                return ""
            return f"{min(values):.2f} to {max(values):.2f}"
        lines.append(f"| {name} | {count} | {spread('over_1f1b')} | "
                     f"{spread('over_chimera')} | {spread('over_next')} |")
    empty = sum(cell is None for cell in cells.values())
    if empty:
        lines.append(f"| nothing fits | {empty} | | | |")
    return "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    keys = [(workers, memory, link, samples) for workers in WORKERS
            for memory in MEMORY for link in LINKS for samples in SAMPLES]
    with tempfile.TemporaryDirectory() as folder:
        for link in LINKS:
            (Path(folder) / f"{link}.toml").write_text(profile(link))
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda key: plan(sys.argv[1], folder, key), keys)
            cells = dict(zip(keys, found))
    (ROOT / "docs/images/which-scheme.svg").write_text(drawn(cells))
    page = ROOT / "docs/which-scheme.md"
    text = page.read_text()
    begin, end = "<!-- table -->\n", "<!-- end -->\n"
    page.write_text(text.split(begin)[0] + begin + table(cells) + "\n" + end +
                    text.split(end)[1])
    print(table(cells))


if __name__ == "__main__":
    main()

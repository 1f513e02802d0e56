#!/usr/bin/env python3
"""The paper's figures, predicted: a table and a picture of each.

    python3 experiments/run.py build/chimera [FIGURE ...] [-o FOLDER]
                               [--profile FILE]

Without FIGURE all of recipes.py. Each row is `chimera simulate` on a built-in
profile; nothing is trained. Ratios are against the first row, and stand next to
those of the published values. `formula` is what the paper's performance model
says of a step, against the simulator. The pictures are FOLDER/figure_<N>.svg.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

from recipes import FIGURES


class Simulator:
    def __init__(self, binary, profile):
        self.binary = binary
        self.profile = profile
        self.folder = Path(tempfile.mkdtemp(prefix="chimera-figures-"))

    def model(self, figure):
        """The preset, or a file where the figure wants another shape."""
        if "set" not in figure:
            return figure["model"]
        path = self.folder / "model.toml"
        keys = "".join(each.split(".", 1)[1] + "\n" for each in figure["set"])
        path.write_text(f'[model]\nkind = "{figure["model"].split("-")[0]}"\n'
                        f'preset = "{figure["model"]}"\n{keys}')
        return path

    def run(self, figure, row):
        flags = dict(row["flags"])
        flags.pop("pick", None)
        # A step by itself takes longer than one that follows another; work in
        # flight has to fill up before, and drains after.
        steps = 3
        if row["scheme"].startswith("pipedream"):
            steps += 2 * ((row["depth"] - 1) // row["micros"] + 1)
        words = [self.binary, "simulate", row["scheme"],
                 "--depth", row["depth"], "--micros", row["micros"],
                 "--width", row["width"], "--micro-batch", row["batch"],
                 "--model", self.model(figure),
                 "--profile", self.profile or figure["profile"],
                 "--steps", steps, "--format", "json"]
        for name, value in flags.items():
            words += [f"--{name}", value]
        if row["recompute"]:
            words.append("--recompute")
        done = subprocess.run([str(word) for word in words],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{row['label']}: {done.stderr}")
        return json.loads(done.stdout)


def predicted(figure, row, result):
    if figure.get("what") == "memory":
        peaks = [worker["peak_bytes"] for worker in result["workers"]]
        pick = min if row["flags"]["pick"] == "min" else max
        return pick(peaks) / 1e9
    samples = row["batch"] * row["micros"] * row["width"]
    return samples / result["period"]


def formula_error(result):
    """Of the paper's formula against the simulator, where it has a form."""
    if "paper" not in result:
        return None
    return result["paper"] / result["period"] - 1


def table(figure, values, errors):
    memory = figure.get("what") == "memory"
    unit = "GB" if memory else "samples/s"
    first = figure["rows"][0]
    lines = [f"## {figure['title']}", ""]
    if "assumed" in figure:
        lines += [f"Assumed: {figure['assumed']}.", ""]
    lines += [f"| layout | predicted {unit} | published | predicted/published | "
              "first over it, predicted | published | formula |",
              "|---|---|---|---|---|---|---|"]
    for row, value, error in zip(figure["rows"], values, errors):
        published = row["published"]
        ratio = figure.get("ratios", {}).get(row["label"])
        if ratio is None and published and first["published"]:
            ratio = first["published"] / published
        lines.append(
            f"| {row['label']} | {value:.1f} | {published or ''} | "
            f"{f'{value / published:.2f}' if published else ''} | "
            f"{values[0] / value:.2f} | {f'{ratio:.2f}' if ratio else ''} | "
            f"{'' if error is None else f'{100 * error:+.1f} %'} |")
    order = sorted(range(len(values)), key=lambda i: -values[i])
    with_both = [i for i in order if figure["rows"][i]["published"]]
    known = sorted(with_both, key=lambda i: -figure["rows"][i]["published"])
    if not memory and len(known) > 1:
        names = lambda places: ", ".join(figure["rows"][i]["label"]
                                         for i in places)
        lines += ["", f"Order predicted: {names(with_both)}. "
                      f"Published: {names(known)}."]
    return "\n".join(lines) + "\n"


def picture(figure, values):
    """Two bars for each row: predicted, and published where it is known."""
    rows = figure["rows"]
    bar, gap, left, width = 14, 14, 230, 520
    most = max([*values, *(row["published"] or 0 for row in rows)])
    height = 50 + len(rows) * (2 * bar + gap)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" '
             f'height="{height}" font-family="sans-serif" font-size="12">',
             f'<text x="10" y="20" font-size="14">{escape(figure["title"])}</text>',
             '<text x="10" y="38" fill="#1f6feb">predicted</text>',
             '<text x="80" y="38" fill="#8b949e">published</text>']
    y = 50
    for row, value in zip(rows, values):
        parts.append(f'<text x="{left - 8}" y="{y + bar + 4}" '
                     f'text-anchor="end">{escape(row["label"])}</text>')
        for number, colour in ((value, "#1f6feb"), (row["published"], "#8b949e")):
            if number:
                length = width * number / most
                parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" '
                             f'height="{bar}" fill="{colour}"/>'
                             f'<text x="{left + length + 4:.1f}" '
                             f'y="{y + bar - 3}">{number:.4g}</text>')
            y += bar
        y += gap
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("figures", nargs="*", metavar="FIGURE",
                        help="of " + ", ".join(FIGURES))
    parser.add_argument("-o", "--output", default="build/experiments")
    parser.add_argument("--profile", help="instead of the figure's own")
    options = parser.parse_args()
    unknown = [name for name in options.figures if name not in FIGURES]
    if unknown:
        parser.error(f"no figure {unknown[0]}: there are {', '.join(FIGURES)}")
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    simulator = Simulator(options.binary, options.profile)
    of_formula = []
    for name in options.figures or FIGURES:
        figure = FIGURES[name]
        results = [simulator.run(figure, row) for row in figure["rows"]]
        values = [predicted(figure, row, result)
                  for row, result in zip(figure["rows"], results)]
        errors = [formula_error(result) for result in results]
        print(table(figure, values, errors), flush=True)
        of_formula += [abs(error) for error in errors if error is not None]
        (folder / f"figure_{name}.svg").write_text(picture(figure, values))
    if of_formula:
        print(f"The paper's formula against the simulator, {len(of_formula)} "
              f"layouts: median {100 * statistics.median(of_formula):.1f} %, "
              f"worst {100 * max(of_formula):.1f} %")


if __name__ == "__main__":
    main()

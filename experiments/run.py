#!/usr/bin/env python3
"""The paper's figures, predicted: a table and a picture of each.

    python3 experiments/run.py build/chimera [FIGURE ...] [-o FOLDER]
                               [--profile FILE] [--json FILE]

Without FIGURE all of recipes.py. Each row is `chimera simulate` on a built-in
profile; nothing is trained. Ratios are against the first row, and stand next to
those of the published values. `formula` is what the paper's performance model
says of a step, against the simulator. The pictures are FOLDER/figure_<N>.svg.

In the end: the errors of held-out bars, and with all figures also how far
predictions move if one of the training figures is left out of the fit
(fits.json, made by fit_links.py). --json writes every bar of the P100 that has
a published throughput as {figure, scheme, layout, predicted, published,
fitted}, figure 12 as ratios.
"""
import argparse
import json
import statistics
from pathlib import Path
from xml.sax.saxutils import escape

from fit_links import profile_text
from recipes import FIGURES, TRAINING, layout
from simulator import Simulator

HELD_OUT = ("1", "17", "18", "19")  # throughputs of the P100


def formula_error(result):
    """Of the paper's formula against the simulator, where it has a form."""
    if "paper" not in result:
        return None
    return result["paper"] / result["period"] - 1


def table(figure, values, errors):
    unit = {"memory": "GB", "ratio": "ratio"}.get(figure.get("what"),
                                                  "samples/s")
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
            f"| {row['label']} | {value:.4g} | {published or ''} | "
            f"{f'{value / published:.2f}' if published else ''} | "
            f"{values[0] / value:.2f} | {f'{ratio:.2f}' if ratio else ''} | "
            f"{'' if error is None else f'{100 * error:+.1f} %'} |")
    order = sorted(range(len(values)), key=lambda i: -values[i])
    with_both = [i for i in order if figure["rows"][i]["published"]]
    known = sorted(with_both, key=lambda i: -figure["rows"][i]["published"])
    if "what" not in figure and len(known) > 1:
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


def bars_of(name, values):
    """A figure's bars of the P100 that have a published value."""
    figure = FIGURES[name]
    if figure.get("what") == "memory" or figure["profile"] != "p100":
        return []
    return [dict(figure=name, scheme=row["scheme"], layout=layout(row),
                 predicted=value, published=row["published"],
                 fitted=name in TRAINING)
            for row, value in zip(figure["rows"], values) if row["published"]]


def errors_of(bars):
    return [abs(bar["predicted"] / bar["published"] - 1) for bar in bars]


def summary(name, bars):
    errors = errors_of(bars)
    return (f"{name}: {len(errors)} bars, median "
            f"{100 * statistics.median(errors):.1f} %, mean "
            f"{100 * statistics.mean(errors):.1f} %, worst "
            f"{100 * max(errors):.0f} %")


def leave_one_out(simulator):
    """Errors and the ratios at 2,048 nodes with each training figure left out
    of the fit."""
    fits = json.loads(Path(__file__).with_name("fits.json").read_text())
    lines = ["| fit | gpt2, bert block | ms a message | GB/s ring, node | error "
             "of the figure left out | held out: median, mean | 1: over 2BW | "
             "over DAPPLE | over GPipe |", "|---|---|---|---|---|---|---|---|---|"]
    for name, numbers in fits.items():
        path = simulator.folder / "fit.toml"
        path.write_text(profile_text(numbers))
        bars = {}
        for each in (*HELD_OUT, *TRAINING):
            rows = [row for row in FIGURES[each]["rows"] if row["published"]]
            values = simulator.predict_all([(FIGURES[each], row, path)
                                            for row in rows])
            bars[each] = bars_of_rows(each, rows, values)
        held_out = errors_of(sum((bars[each] for each in HELD_OUT), []))
        left_out = name.split()[-1]
        own = "" if left_out == "all" else (
            f"{100 * statistics.mean(errors_of(bars[left_out])):.1f} %")
        at_2048 = [bar["predicted"] for bar in bars["1"]]
        lines.append(
            f"| {name} | {numbers['gpt2']}, {numbers['bert']} | "
            f"{numbers['message_ms']} | {numbers['ring_gb_per_s']}, "
            f"{numbers['node_gb_per_s']} | {own} | "
            f"{100 * statistics.median(held_out):.1f} %, "
            f"{100 * statistics.mean(held_out):.1f} % | " +
            " | ".join(f"{at_2048[0] / other:.2f}" for other in at_2048[1:4]) +
            " |")
    return "\n".join(lines)


def bars_of_rows(name, rows, values):
    return [dict(predicted=value, published=row["published"])
            for row, (value, _) in zip(rows, values)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("figures", nargs="*", metavar="FIGURE",
                        help="of " + ", ".join(FIGURES))
    parser.add_argument("-o", "--output", default="build/experiments")
    parser.add_argument("--profile", help="instead of the figure's own")
    parser.add_argument("--json", help="write all bars to this file")
    options = parser.parse_args()
    unknown = [name for name in options.figures if name not in FIGURES]
    if unknown:
        parser.error(f"no figure {unknown[0]}: there are {', '.join(FIGURES)}")
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    simulator = Simulator(options.binary, options.profile)
    of_formula, bars = [], []
    for name in options.figures or FIGURES:
        figure = FIGURES[name]
        results = simulator.predict_all([(figure, row)
                                         for row in figure["rows"]])
        values = [value for value, _ in results]
        errors = [formula_error(result) for _, result in results]
        print(table(figure, values, errors), flush=True)
        of_formula += [abs(error) for error in errors if error is not None]
        bars += bars_of(name, values)
        (folder / f"figure_{name}.svg").write_text(picture(figure, values))
    if of_formula:
        print(f"The paper's formula against the simulator, {len(of_formula)} "
              f"layouts: median {100 * statistics.median(of_formula):.1f} %, "
              f"worst {100 * max(of_formula):.1f} %")
    for name, chosen in (
            ("Fitted", [bar for bar in bars if bar["fitted"]]),
            ("Held out", [bar for bar in bars if bar["figure"] in HELD_OUT]),
            ("Held out with figure 12's ratios",
             [bar for bar in bars if not bar["fitted"]])):
        if chosen:
            print(summary(name, chosen))
    if not options.figures and not options.profile:
        print("\n## Each training figure left out\n")
        print(leave_one_out(simulator))
    if options.json:
        Path(options.json).write_text(json.dumps(bars, indent=1) + "\n")


if __name__ == "__main__":
    main()

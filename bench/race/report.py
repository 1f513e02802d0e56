"""Tables of the race, in Markdown."""


def real_table(panel):
    most = panel.limit or panel.named("products")
    lines = [f"| | tokens/s | ms a step | spread | of {most.name} | Chimera is "
             "faster by | MiB a worker | loss |",
             "|---|---|---|---|---|---|---|---|"]
    for result in sorted(panel.results, key=lambda r: r.median):
        losses = (f"{result.losses[0]:.3f} -> {result.losses[-1]:.3f}"
                  if result.losses else "")
        lines.append(
            f"| {result.name} | {panel.tokens / result.median:.0f} | "
            f"{1e3 * result.median:.1f} | {100 * result.spread:.1f} % | "
            f"{result.times_faster_than(most):.3f} | "
            f"{panel.ours.times_faster_than(result):.2f} x | "
            f"{result.peak_kib / 1024:.0f} | {losses} |")
    return lines


def emulated_table(panel):
    lines = ["| | ms a step | spread | simulated ms | measured / simulated | "
             "Chimera is faster by |", "|---|---|---|---|---|---|"]
    for result in sorted(panel.results, key=lambda r: r.median):
        simulated = ["", ""]
        if result.simulated:
            simulated = [f"{1e3 * result.simulated:.1f}",
                         f"{result.median / result.simulated:.3f}"]
        lines.append(
            f"| {result.name} | {1e3 * result.median:.1f} | "
            f"{100 * result.spread:.1f} % | {' | '.join(simulated)} | "
            f"{panel.ours.times_faster_than(result):.2f} x |")
    return lines


def panel_text(panel):
    table = real_table(panel) if panel.tokens else emulated_table(panel)
    return "\n".join([f"### {panel.title}", "", *table,
                      *(f"\n{note}" for note in panel.notes),
                      *(f"\n**Wrong**: {problem}"
                        for problem in panel.problems)]) + "\n"


def bars_text(bars):
    lines = ["| | found | needed | |", "|---|---|---|---|"]
    for bar in bars:
        lines.append(f"| {bar.text} | {bar.value:.3f} | {bar.needed} | "
                     f"{'met' if bar.is_met else '**missed**'} |")
    return "\n".join(lines) + "\n"

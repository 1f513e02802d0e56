"""The cost of a step of chimera.torch beside the layers' compute: ranks over
Gloo run layers that do nothing."""
from statistics import median

from peer_spec import Emulated, Task
from python_race import OwnGroup

SCHEME, DEPTH, MICROS = "planned", 4, 16
STEPS = 50

PARTS = {
    "F": "forward: call into Python, layers, autograd's graph",
    "I": "input gradient: call into Python, autograd's engine",
    "W": "weight gradient",
    "SF": "message with an activation, until it has arrived",
    "SB": "message with a gradient, until it has arrived",
    "G": "gradient sum by Gloo, until it is complete",
}


def section(native):
    """A table. `native`: the costs of C++ (overhead.rows)."""
    group = OwnGroup(SCHEME, Task(DEPTH, MICROS, 1, Emulated(0.0, 0.0)))
    group.ask(STEPS)  # to warm up
    steps = [group.ask(1) for _ in range(STEPS)]
    group.close()
    traces = [ranks[0]["trace"] for ranks in steps]
    step_s = [max(rank["end"] for rank in ranks)
              - min(rank["start"] for rank in ranks) for ranks in steps]
    outside_s = [seconds - trace["end"].max()
                 for seconds, trace in zip(step_s, traces)]
    lines = [f"### Python: layers that do nothing, {SCHEME}, D={DEPTH}, "
             f"N={MICROS}, Gloo", "",
             f"A step takes {1e6 * median(step_s):.0f} us. In C++ an action of "
             "this schedule, as empty, takes "
             f"{native[SCHEME, DEPTH, MICROS][0]:.2f} us of a core. Here, by "
             "action (more ranks than cores: actions also wait for a core):",
             "", "| | actions of a rank | us each |", "|---|---|---|"]
    for op, text in PARTS.items():
        times = [event["end"] - event["start"] for trace in traces
                 for event in trace[trace["op"] == op]]
        lines.append(f"| {text} | {len(times) / DEPTH / STEPS:g} | "
                     f"{1e6 * median(times):.0f} |")
    lines.append("| cutting the batch, zeroing gradients, the optimizer | 1 | "
                 f"{1e6 * median(outside_s):.0f} |")
    return "\n".join(lines) + "\n"

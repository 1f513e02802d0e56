"""The evaluation of Chimera (Li & Hoefler, SC 2021) as recipes.

Every row is a layout that the paper ran, as the simulator takes it, with the
throughput (samples/s) or memory (GB) that was published. Published values are
read off figures: bars within about 5 %. Where the paper leaves an input open it
is named in `assumed`.

How each system synchronises and recomputes is read from the authors' code
(branch ChimeraBk of their repository). Of GPipe and DAPPLE it has branches with
a blocking all-reduce after the backwards, in files that cannot run them.

`buckets` are the parts of a sum that run at once, `parts` all of its parts
(DistributedDataParallel has one for every 25 MB instead). A process group of
Gloo has two threads, so two parts run at once.
"""

# Figures whose rows the machine was fitted to (fit_links.py).
TRAINING = ("11", "13", "14")

SYSTEMS = {
    "Chimera": dict(scheme="chimera", sync="eager-opt", buckets=2, parts=4),
    "PipeDream-2BW": dict(scheme="pipedream-2bw", sync="ddp", buckets=2),
    "PipeDream": dict(scheme="pipedream", sync="ddp", buckets=2),
    "DAPPLE": dict(scheme="1f1b", sync="blocking"),
    "GPipe": dict(scheme="gpipe", sync="blocking"),
    "GEMS": dict(scheme="gems", sync="blocking"),
}


def row(system, width, depth, batch, micros, published=None, recompute=False,
        label=None, updates=None, **flags):
    """W copies of D workers, N micro-batches of B samples in each.

    updates: measured over so many updates, from the full pipe to the end of the
    drain, instead of in the steady state."""
    flags = {**SYSTEMS[system], **flags}
    return dict(label=label or system, scheme=flags.pop("scheme"), width=width,
                depth=depth, batch=batch, micros=micros, published=published,
                recompute=recompute, updates=updates,
                parts=flags.pop("parts", 1), flags=flags)


def layout(row):
    """A row's layout in words: "W=8 D=4 B=8 N=8 R"."""
    words = [f"W={row['width']} D={row['depth']} B={row['batch']} "
             f"N={row['micros']}"]
    words += [f"{name} {row['flags'][name]}" for name in ("pipes", "scale")
              if name in row["flags"]]
    return " ".join(words + ["R"] * row["recompute"])


def rows_of(published, systems):
    """One row for each system: (W, D, B, N, more)."""
    return [row(name, *systems[name][:4], published.get(name),
                **(systems[name][4] if len(systems[name]) > 4 else {}))
            for name in systems]


def weak_scaling_gpt2(nodes, published):
    """Figure 15: as many samples as nodes."""
    again = dict(recompute=True)
    return rows_of(published, {
        "Chimera": (nodes // 32, 32, 1, 32),
        "PipeDream-2BW": (nodes // 16, 16, 1, 16, dict(again, updates=4)),
        "DAPPLE": (nodes // 16, 16, 1, 16, again),
        "GPipe": (nodes // 8, 8, 1, 8, again),
        "PipeDream": (nodes // 8, 8, 2, 1, dict(again, updates=16)),
        "GEMS": (nodes // 8, 8, 2, 4)})


def weak_scaling_bert(nodes, published):
    """Figure 14: 16 samples for each node."""
    again = dict(recompute=True)
    width = nodes // 4
    return rows_of(published, {
        "Chimera": (width, 4, 8, 8),
        "PipeDream-2BW": (width, 4, 16, 4, again),
        "DAPPLE": (width, 4, 4, 16),
        "GPipe": (width, 4, 4, 16, again),
        "PipeDream": (nodes // 8, 8, 12, 1),
        "GEMS": (width, 4, 32, 2)})


def large_bert(published):
    """Figure 17: 32 nodes, W = 8, D = 4; 4,096 samples."""
    def chimera(scale, **more):
        label = f"Chimera {scale}"
        return row("Chimera", 8, 4, 8, 64, published.get(label), label=label,
                   scale=scale, **more)
    return [chimera("direct"), chimera("halving"),
            chimera("doubling", recompute=True)] + rows_of(published, {
        "PipeDream-2BW": (8, 4, 32, 16, dict(recompute=True)),
        "DAPPLE": (8, 4, 8, 64),
        "GPipe": (8, 4, 8, 64, dict(recompute=True)),
        "GEMS": (8, 4, 32, 16),
        "PipeDream": (4, 8, 12, 1)})


def large_gpt2(published):
    """Figure 18: 512 nodes, 2,048 samples."""
    def chimera(scale):
        label = f"Chimera {scale}"
        return row("Chimera", 64, 8, 1, 32, published.get(label), True,
                   label=label, scale=scale)
    again = dict(recompute=True)
    return [chimera("doubling"), chimera("direct")] + rows_of(published, {
        "PipeDream-2BW": (32, 16, 1, 64, dict(again, updates=4)),
        "GPipe": (64, 8, 1, 32, again),
        "DAPPLE": (32, 16, 1, 64, again),
        "GEMS": (64, 8, 2, 16)})


def more_pipes(width, depth, published):
    """Figure 19: `published` by the number of pipes in all; one is 1F1B. With 8
    pipes and more the code sums after all compute."""
    rows = []
    for pipes, value in published.items():
        label = f"W={width} D={depth}, {pipes} pipe{'s' * (pipes > 1)}"
        if pipes == 1:
            rows.append(row("DAPPLE", width, depth, 1, depth, value,
                            label=label))
        else:
            rows.append(row("Chimera", width, depth, 1, depth, value,
                            label=label, pipes=pipes,
                            sync="end" if pipes >= 8 else "eager-opt"))
    return rows


def grid_search(system, recompute):
    """Figure 10: 32 nodes, 512 samples."""
    return [row(system, width, depth, batch, 512 // width // batch, None,
                recompute, f"{system} W={width} D={depth} B={batch}")
            for width, depth in ((2, 16), (4, 8), (8, 4), (16, 2))
            for batch in (2, 4, 8)]


FIGURES = {
    "1": dict(
        title="Figures 1 and 15: GPT-2, 2,048 nodes, 2,048 samples",
        model="gpt2-64", profile="p100",
        assumed="GPipe's and DAPPLE's all-reduces; PipeDream with 512 samples",
        rows=weak_scaling_gpt2(2048, {
            "Chimera": 507, "PipeDream-2BW": 435, "DAPPLE": 370, "GPipe": 360,
            "PipeDream": 255, "GEMS": 217}),
        ratios={"PipeDream-2BW": 1.16, "DAPPLE": 1.38, "GPipe": 1.42,
                "PipeDream": 2.01, "GEMS": 2.34}),
    "14": dict(
        title="Figure 14: Bert-48 weak scaling, 64 nodes",
        model="bert-48", profile="p100",
        assumed="16 samples a node, as in the 32-node scripts; PipeDream's 96 "
                "samples as one micro-batch of 12 in each of 8 copies",
        rows=weak_scaling_bert(64, {
            "Chimera": 340, "PipeDream-2BW": 290, "DAPPLE": 275, "GPipe": 205,
            "PipeDream": 170, "GEMS": 140})),
    "17": dict(
        title="Figure 17: Bert-48, 32 nodes, 4,096 samples",
        model="bert-48", profile="p100",
        assumed="GEMS's micro-batches as in figure 14; PipeDream with 48 "
                "samples",
        rows=large_bert({
            "Chimera direct": 235, "Chimera halving": 225,
            "PipeDream-2BW": 240, "DAPPLE": 220, "GPipe": 200, "GEMS": 115,
            "PipeDream": 92})),
    "18": dict(
        title="Figure 18: GPT-2, 512 nodes, 2,048 samples (its PipeDream is "
              "figure 11's)",
        model="gpt2-64", profile="p100",
        rows=large_gpt2({
            "Chimera doubling": 223, "Chimera direct": 198,
            "PipeDream-2BW": 190, "GPipe": 186, "DAPPLE": 172, "GEMS": 93})),
    "19": dict(
        title="Figure 19: GPT-2 of 32 layers, 64 nodes, more pipes",
        model="gpt2-32", profile="p100",
        assumed="64 samples; one pipe is 1F1B with a blocking all-reduce",
        rows=more_pipes(2, 32, {1: 22, 4: 29, 16: 23}) +
             more_pipes(4, 16, {1: 28, 2: 34, 8: 27})),
    "12": dict(
        title="Figure 12: eager-sync-opt over eager-sync, Bert-48 weak scaling",
        model="bert-48", profile="p100", what="ratio", against=dict(sync="eager"),
        assumed="the layouts of figure 14",
        rows=[row("Chimera", nodes // 4, 4, 8, 8, published,
                  label=f"{nodes} nodes")
              for nodes, published in ((16, 1.03), (32, 1.09), (64, 1.12))]),
    "9": dict(
        title="Figure 9: memory of GPT-2 of 32 layers, W=1 D=32 B=1, 512 "
              "samples",
        model="gpt2-32", profile="p100", what="memory",
        rows=[row(system, 1, 32, 1, 512, published, label=f"{system}, {pick}",
                  pick=pick)
              for system, pick, published in (
                  ("Chimera", "least", 3), ("Chimera", "most", 5),
                  ("DAPPLE", "least", 5), ("DAPPLE", "most", 13),
                  ("GPipe", "most", None), ("GEMS", "most", None))]),
    "10": dict(
        title="Figure 10: Bert-48, 32 nodes, 512 samples: the best grid point "
              "of GPipe and DAPPLE was W=8 D=4 B=4",
        model="bert-48", profile="p100",
        rows=grid_search("GPipe", True) + grid_search("DAPPLE", False)),
    "11": dict(
        title="Figure 11: GPT-2, 512 nodes, 512 samples: the baselines' best",
        model="gpt2-64", profile="p100",
        rows=[each for each in weak_scaling_gpt2(512, {
            "GPipe": 100, "PipeDream": 77}) if each["label"] != "Chimera"]),
    "13": dict(
        title="Figure 13: the paper's performance model, Bert-48 and GPT-2",
        model="bert-48", profile="p100",
        rows=[row("Chimera", 2, 16, 16, 16, label="Bert-48 W=2 D=16 B=16"),
              row("Chimera", 4, 8, 16, 8, label="Bert-48 W=4 D=8 B=16"),
              row("Chimera", 8, 4, 8, 8, 166, label="Bert-48 W=8 D=4 B=8"),
              row("Chimera", 16, 2, 4, 8, label="Bert-48 W=16 D=2 B=4"),
              dict(row("Chimera", 16, 32, 1, 32, 130,
                       label="GPT-2 W=16 D=32 B=1"), model="gpt2-64"),
              dict(row("Chimera", 64, 8, 1, 8, 145, True,
                       label="GPT-2 W=64 D=8 B=1 R"), model="gpt2-64")]),
    "16": dict(
        title="Figure 16: Bert-48 (seq 512), 32 V100",
        model="bert-48", profile="v100", seq=512,
        assumed="256 samples, PipeDream 32; the V100's links are not known",
        rows=rows_of({"Chimera": 74, "PipeDream-2BW": 71, "DAPPLE": 69,
                      "GPipe": 60, "PipeDream": 40, "GEMS": 31}, {
            "Chimera": (8, 4, 4, 8),
            "PipeDream-2BW": (8, 4, 4, 8),
            "DAPPLE": (8, 4, 2, 16),
            "GPipe": (8, 4, 2, 16, dict(recompute=True)),
            "PipeDream": (8, 4, 4, 1),
            "GEMS": (8, 4, 8, 4)})),
}

"""The evaluation of Chimera (Li & Hoefler, SC 2021) as recipes.

Every row is a layout that the paper ran, as the simulator takes it, with the
throughput (samples/s) or memory (GB) that was published. Published values are
read off figures: bars within about 5 %. Where the paper leaves an input open it
is named in `assumed`.
"""


def row(label, scheme, width, depth, batch, micros, published=None,
        recompute=False, **flags):
    """W copies of D workers, N micro-batches of B samples in each."""
    return dict(label=label, scheme=scheme, width=width, depth=depth,
                batch=batch, micros=micros, published=published,
                recompute=recompute, flags=flags)


def weak_scaling_gpt2(nodes, published):
    """Figure 15: as many samples as nodes."""
    def one(label, scheme, depth, batch, recompute=False):
        return row(label, scheme, nodes // depth, depth, batch,
                   depth // batch, published.get(label), recompute)
    rows = [
        one("Chimera", "chimera", 32, 1),
        one("PipeDream-2BW", "pipedream-2bw", 16, 1, True),
        one("DAPPLE", "1f1b", 16, 1, True),
        one("GPipe", "gpipe", 8, 1, True),
        row("PipeDream", "pipedream", nodes // 8, 8, 1, 1,
            published.get("PipeDream"), True),
        row("GEMS", "gems", nodes // 8, 8, 2, 4, published.get("GEMS")),
    ]
    return rows


def weak_scaling_bert(nodes, published):
    """Figure 14: 16 samples for each node."""
    samples = 16 * nodes
    def one(label, scheme, depth, batch, recompute=False):
        width = nodes // depth
        return row(label, scheme, width, depth, batch,
                   samples // width // batch, published.get(label), recompute)
    return [
        one("Chimera", "chimera", 4, 8),
        one("PipeDream-2BW", "pipedream-2bw", 4, 16, True),
        one("DAPPLE", "1f1b", 4, 4),
        one("GPipe", "gpipe", 4, 4, True),
        row("PipeDream", "pipedream", nodes // 8, 8, 12, 1,
            published.get("PipeDream")),
        one("GEMS", "gems", 4, 32),
    ]


def large_bert(samples, published):
    """Figure 17: 32 nodes, W = 8, D = 4."""
    def one(label, scheme, batch, recompute=False, **flags):
        return row(label, scheme, 8, 4, batch, samples // 8 // batch,
                   published.get(label), recompute, **flags)
    return [
        one("Chimera direct", "chimera", 8),
        one("Chimera halving", "chimera", 4, scale="halving"),
        one("Chimera doubling", "chimera", 8, True, scale="doubling"),
        one("PipeDream-2BW", "pipedream-2bw", 16, True),
        one("DAPPLE", "1f1b", 4),
        one("GPipe", "gpipe", 4, True),
        one("GEMS", "gems", 32),
    ]


def large_gpt2(samples, published):
    """Figure 18: 512 nodes."""
    def one(label, scheme, depth, batch, recompute=True, **flags):
        width = 512 // depth
        return row(label, scheme, width, depth, batch,
                   samples // width // batch, published.get(label), recompute,
                   **flags)
    return [
        one("Chimera doubling", "chimera", 8, 1, scale="doubling"),
        one("Chimera direct", "chimera", 8, 1),
        one("PipeDream-2BW", "pipedream-2bw", 16, 1),
        one("GPipe", "gpipe", 8, 1),
        one("DAPPLE", "1f1b", 16, 1),
        one("GEMS", "gems", 8, 2, False),
        row("PipeDream", "pipedream", 64, 8, 2, 1, published.get("PipeDream"),
            True),
    ]


FIGURES = {
    "1": dict(
        title="Figures 1 and 15: GPT-2, 2,048 nodes, 2,048 samples",
        model="gpt2-64", profile="p100", binding=True,
        rows=weak_scaling_gpt2(2048, {
            "Chimera": 507, "PipeDream-2BW": 435, "DAPPLE": 370, "GPipe": 360,
            "PipeDream": 255, "GEMS": 217}),
        ratios={"PipeDream-2BW": 1.16, "DAPPLE": 1.38, "GPipe": 1.42,
                "PipeDream": 2.01, "GEMS": 2.34}),
    "15": dict(
        title="Figure 15: GPT-2 weak scaling, 512 nodes",
        model="gpt2-64", profile="p100", binding=True,
        rows=weak_scaling_gpt2(512, {"Chimera": 130})),
    "14": dict(
        title="Figure 14: Bert-48 weak scaling, 64 nodes",
        model="bert-48", profile="p100", binding=True,
        assumed="16 samples a node, as in the 32-node scripts; PipeDream's 96 "
                "samples as one micro-batch of 12 in each of 8 copies",
        rows=weak_scaling_bert(64, {
            "Chimera": 340, "PipeDream-2BW": 290, "DAPPLE": 275, "GPipe": 205,
            "PipeDream": 170, "GEMS": 140})),
    "17": dict(
        title="Figure 17: Bert-48, 32 nodes, 4,096 samples",
        model="bert-48", profile="p100", binding=True,
        assumed="PipeDream-2BW's, DAPPLE's, GPipe's and GEMS's micro-batches as "
                "in figure 14",
        rows=large_bert(4096, {
            "Chimera direct": 235, "Chimera halving": 225,
            "PipeDream-2BW": 240, "DAPPLE": 220, "GPipe": 200, "GEMS": 115})),
    "18": dict(
        title="Figure 18: GPT-2, 512 nodes, 2,048 samples",
        model="gpt2-64", profile="p100", binding=True,
        rows=large_gpt2(2048, {
            "Chimera doubling": 223, "Chimera direct": 198,
            "PipeDream-2BW": 190, "GPipe": 186, "DAPPLE": 172, "GEMS": 93,
            "PipeDream": 77})),
    "19": dict(
        title="Figure 19: GPT-2 of 32 layers, 64 nodes, more pipes",
        model="gpt2-32", profile="p100", binding=True,
        assumed="64 samples; the figure's pipes counted in pairs",
        rows=[row(f"W={width} D={depth}, {pairs} pairs", "chimera", width,
                  depth, 1, depth, published, pipes=2 * pairs)
              for width, depth, pairs, published in (
                  (2, 32, 1, 22), (2, 32, 4, 29), (2, 32, 16, 23),
                  (4, 16, 1, 28), (4, 16, 2, 34), (4, 16, 8, 27))]),
    "9": dict(
        title="Figure 9: memory of GPT-2 of 32 layers, W=1 D=32 B=1, 512 "
              "samples",
        model="gpt2-32", profile="p100", what="memory",
        rows=[row("Chimera, least", "chimera", 1, 32, 1, 512, 3, pick="min"),
              row("Chimera, most", "chimera", 1, 32, 1, 512, 5, pick="max"),
              row("DAPPLE, least", "1f1b", 1, 32, 1, 512, 5, pick="min"),
              row("DAPPLE, most", "1f1b", 1, 32, 1, 512, 13, pick="max"),
              row("GPipe, most", "gpipe", 1, 32, 1, 512, None, pick="max"),
              row("GEMS, most", "gems", 1, 32, 1, 512, None, pick="max")]),
    "10": dict(
        title="Figure 10: Bert-48, 32 nodes, 512 samples: the best grid point "
              "of GPipe and DAPPLE was W=8 D=4 B=4",
        model="bert-48", profile="p100",
        rows=[row(f"{label} W={width} D={depth} B={batch}", scheme, width,
                  depth, batch, 512 // width // batch, None, recompute)
              for label, scheme, recompute in (("GPipe", "gpipe", True),
                                               ("DAPPLE", "1f1b", False))
              for width, depth in ((2, 16), (4, 8), (8, 4), (16, 2))
              for batch in (2, 4, 8)]),
    "11": dict(
        title="Figure 11: GPT-2, 512 nodes, 512 samples: the baselines' best",
        model="gpt2-64", profile="p100",
        rows=[row("GPipe D=8 B=1", "gpipe", 64, 8, 1, 8, 100, True),
              row("DAPPLE D=16 B=1", "1f1b", 32, 16, 1, 16, None, True),
              row("PipeDream-2BW D=16 B=1", "pipedream-2bw", 32, 16, 1, 16,
                  None, True),
              row("GEMS D=8 B=2", "gems", 64, 8, 2, 4, None),
              row("PipeDream D=8 B=2", "pipedream", 64, 8, 2, 1, 77, True)]),
    "13": dict(
        title="Figure 13: the performance model; links are fitted to its rows "
              "with a published value",
        model="bert-48", profile="p100",
        rows=[row("W=2 D=16 B=16", "chimera", 2, 16, 16, 16),
              row("W=4 D=8 B=16", "chimera", 4, 8, 16, 8),
              row("W=8 D=4 B=8", "chimera", 8, 4, 8, 8, 166),
              row("W=16 D=2 B=4", "chimera", 16, 2, 4, 8)]),
    "16": dict(
        title="Figure 16: Bert-48 (seq 512), 32 V100",
        model="bert-48", profile="v100", set=["model.seq=512"],
        assumed="256 samples, PipeDream 32; the V100's links are not known",
        rows=[row("Chimera", "chimera", 8, 4, 4, 8, 74),
              row("PipeDream-2BW", "pipedream-2bw", 8, 4, 4, 8, 71),
              row("DAPPLE", "1f1b", 8, 4, 2, 16, 69),
              row("GPipe", "gpipe", 8, 4, 2, 16, 60, True),
              row("PipeDream", "pipedream", 8, 4, 4, 1, 40),
              row("GEMS", "gems", 8, 4, 8, 4, 31)]),
}

"""Compares ranks of torchrun with plain torch, by running ranks_agree.py."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("chimera.torch")
pytest.importorskip("transformers")

HERE = pathlib.Path(__file__).parent
FULL = os.environ.get("CHIMERA_GRID") == "full"

# Cases model:scheme:micros:width[:exact]; exact ones are repeatable bit for
# bit.
QUICK = {
    2: ["gpt2:chimera:4:1", "bert-double:planned:4:1", "conv:zb-v:4:1",
        "tied:chimera:4:1:exact"],
    4: ["llama:chimera:2:2", "gpt2:planned:4:1", "conv:1f1b:4:1",
        "untied:interleaved:4:1"],
}
SCHEMES = ["chimera", "planned", "1f1b", "zb-v", "interleaved"]
GRID = {
    ranks: [f"{model}:{scheme}:{micros}:{width}"
            for model in ("gpt2", "bert", "llama", "gpt2-double", "tied",
                          "untied", "conv")
            for scheme in SCHEMES
            for width, micros in ((1, 4), (2, 2))
            if ranks // width > 1]
    + [f"gpt2:{scheme}:4:1:exact" for scheme in SCHEMES]
    for ranks in (2, 4)
}


def torchrun(ranks, *arguments, timeout):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone",
               f"--nproc_per_node={ranks}", *arguments]
    return subprocess.run(command, cwd=HERE, text=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_agree_with_plain_torch(ranks):
    cases = (GRID if FULL else QUICK)[ranks]
    done = torchrun(ranks, "ranks_agree.py", *cases,
                    timeout=3000 if FULL else 400)
    assert done.returncode == 0, done.stdout
    for case in cases:
        assert f"agrees {case}\n" in done.stdout

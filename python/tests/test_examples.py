"""Runs the examples and checks what they claim."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_notebook():
    pytest.importorskip("numpy")
    text = (EXAMPLES / "06_python_notebook/schedules.ipynb").read_text()
    names = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["planned"].simulate(p2p=0.05).makespan <= min(
        row[0] for row in names["rows"]) + 1e-9


def test_hugging_face_example_stores_a_trained_model(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("chimera.torch")
    output = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         "--nproc_per_node=2",
         EXAMPLES / "05_python_hugging_face/train.py", "--output", output],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=300)
    assert done.returncode == 0, done.stdout
    losses = [float(each) for each in re.findall(r"loss ([\d.]+)",
                                                 done.stdout)]
    assert len(losses) == 20 and losses[-1] < losses[0] - 0.5, losses
    model = transformers.GPT2LMHeadModel.from_pretrained(output)
    ids = torch.tensor([list(b"Trains a Hugging Face model from")])
    loss = model(ids, labels=ids).loss
    assert float(loss.detach()) < losses[0] - 0.5

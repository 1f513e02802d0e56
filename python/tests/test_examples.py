"""Runs the examples and the quickstart, and checks what they claim."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_notebook():
    pytest.importorskip("numpy")
    text = (EXAMPLES / "06_python_notebook/schedules.ipynb").read_text()
    names = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["planned"].simulate(p2p=0.05).makespan <= min(
        row[0] for row in names["rows"]) + 1e-9


def losses_of(script, *arguments):
    """The losses that a script prints under torchrun."""
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         "--nproc_per_node=2", script, *arguments],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=300)
    assert done.returncode == 0, done.stdout
    return [float(each) for each in re.findall(r"loss ([\d.]+)", done.stdout)]


def test_quickstart_of_the_document(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("chimera.torch")
    text = (ROOT / "docs/python.md").read_text()
    script = tmp_path / "train.py"
    script.write_text(text.split("```python\n")[1].split("```")[0])
    losses = losses_of(script)
    assert len(losses) == 20 and losses[-1] < losses[0] / 2, losses


def test_hugging_face_example_stores_a_trained_model(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("chimera.torch")
    output = tmp_path / "model"
    losses = losses_of(EXAMPLES / "05_python_hugging_face/train.py",
                       "--output", output)
    assert len(losses) == 20 and losses[-1] < losses[0] - 0.5, losses
    model = transformers.GPT2LMHeadModel.from_pretrained(output)
    ids = torch.tensor([list(b"Trains a Hugging Face model from")])
    loss = model(ids, labels=ids).loss
    assert float(loss.detach()) < losses[0] - 0.5

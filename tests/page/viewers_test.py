"""What docs/report.md says about other programs: TensorBoard reads the event
files of a run, and the snippets for pandas and W&B run as they stand.

usage: viewers_test.py CHIMERA_BINARY, by a Python that has the packages
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import matplotlib  # noqa: F401
    import pandas  # noqa: F401
    import wandb  # noqa: F401
    from tensorboard.backend.event_processing import event_accumulator
except ImportError as error:
    print(f"SKIPPED: {error}: pip install tensorboard pandas matplotlib wandb")
    raise SystemExit(77)

CHIMERA = os.path.abspath(sys.argv.pop(1))
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/report.md"
CONFIG = """
model = {kind = "gpt2", layers = 2, hidden = 16, heads = 2, vocab = 256, seq = 16}
schedule = {depth = 2, micros = 2, micro_batch = 1}
train = {steps = 6, lr = 1e-3, eval_every = 3}
data = {path = "text.txt", eval_fraction = 0.5}
run = {tensorboard = true}
"""


class ViewersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "text.txt").write_text("Once upon a time. " * 40)
        (cls.folder / "run.toml").write_text(CONFIG)
        subprocess.run([CHIMERA, "train", "-c", "run.toml", "--run-dir",
                        "runs/a"], cwd=cls.folder, check=True,
                       capture_output=True, timeout=120)
        lines = (cls.folder / "runs/a/metrics.jsonl").read_text().splitlines()
        cls.metrics = [json.loads(line) for line in lines]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_tensorboard_reads_scalars_and_the_config(self):
        events = event_accumulator.EventAccumulator(
            str(self.folder / "runs/a/tensorboard"))
        events.Reload()
        for tag, key in (("train/loss", "loss"), ("train/lr", "lr"),
                         ("train/grad_norm", "grad_norm"),
                         ("speed/tokens_per_s", "tokens_per_s"),
                         ("speed/step_s", "step_s"), ("speed/mfu", "mfu"),
                         ("speed/bubble", "bubble"), ("eval/loss", "eval_loss")):
            lines = [line for line in self.metrics if key in line]
            scalars = events.Scalars(tag)
            self.assertEqual([event.step for event in scalars],
                             [line["step"] for line in lines], tag)
            for event, line in zip(scalars, lines):
                self.assertAlmostEqual(event.value / line[key], 1, places=5)
        plugin = events.SummaryMetadata("config").plugin_data.plugin_name
        self.assertEqual(plugin, "text")
        [config] = events.Tensors("config")
        text = config.tensor_proto.string_val[0].decode()
        self.assertIn('    kind = "gpt2"\n', text)

    def test_snippets_run(self):
        section = DOCUMENT.read_text().split("## metrics.jsonl elsewhere")[1]
        snippets = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        self.assertEqual(len(snippets), 2)
        for snippet in snippets:
            run = subprocess.run(
                [sys.executable, "-c", snippet], cwd=self.folder, text=True,
                capture_output=True, timeout=120,
                env={**os.environ, "MPLBACKEND": "Agg", "WANDB_MODE": "offline",
                     "WANDB_SILENT": "true"})
            self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

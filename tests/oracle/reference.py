"""Shared by the tests against transformers: running chimera, and the same
models, batches and optimizers unsplit in torch.

Importing this module takes the binary's path from the command line.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import numpy
import torch
import transformers
from transformers import (BertConfig, BertForPreTraining, GPT2Config,
                          GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM,
                          MistralConfig, MistralForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

CHIMERA = sys.argv.pop(1)
SEQ, VOCAB, STEPS = 16, 97, 5
# A large eps: if a gradient is pure rounding error (a key's bias), Adam would
# otherwise amplify it to the size of the learning rate.
TRAIN = {"steps": STEPS, "lr": 1e-3, "eps": 1e-5, "weight_decay": 0.1,
         "threads": 1}
# Largest differences allowed: of losses, relative to max(1, loss); of norms,
# relative; of a tensor's weights, relative to the distance they have moved,
# plus rounding for weights that hardly move.
LOSS, NORM, WEIGHT, ROUNDING = 1e-5, 1e-4, 1e-3, 1e-3

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
print(f"torch {torch.__version__}, transformers {transformers.__version__}")


# ---- chimera

def layout(scheme, depth, micros, micro_batch=2, **more):
    return {"scheme": scheme, "depth": depth, "micros": micros,
            "micro_batch": micro_batch, **more}


def run_chimera(*arguments):
    return subprocess.run([CHIMERA, *map(str, arguments)], timeout=300,
                          capture_output=True, text=True)


def start(folder, **sections):
    """Run `chimera train` into folder/run; the finished process."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}"
                  for key, value in values.items()]
    (folder / "run.toml").write_text("\n".join(lines))
    return run_chimera("train", "-c", folder / "run.toml", "--run-dir",
                       folder / "run")


def train(folder, **sections):
    """Train and export to folder/export; returns metrics, evaluations and
    stderr."""
    done = start(folder, **sections)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    text = (folder / "run" / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    export = run_chimera("export", folder / "run", "-o", folder / "export")
    if export.returncode != 0:
        raise AssertionError(f"exit {export.returncode}: {export.stderr}")
    return ([line for line in lines if "loss" in line],
            [line for line in lines if "eval_loss" in line], done.stderr)


# ---- torch

def randomized(model):
    """The model with every parameter away from its usual 0, 1 or 0.02."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0, 0.2)
            if re.search(r"(ln_.|LayerNorm|norm)\.weight$", name):
                parameter.add_(1)
    return model


def gpt2(tied=True):
    torch.manual_seed(1)
    return randomized(GPT2LMHeadModel(GPT2Config(
        n_layer=4, n_embd=32, n_head=4, n_inner=80, vocab_size=VOCAB,
        n_positions=24, layer_norm_epsilon=1e-4, tie_word_embeddings=tied,
        attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, bos_token_id=None,
        eos_token_id=None, attn_implementation="eager")))


def bert(tied=True, **more):
    torch.manual_seed(2)
    return randomized(BertForPreTraining(BertConfig(
        num_hidden_layers=4, hidden_size=32, num_attention_heads=4,
        intermediate_size=80, vocab_size=VOCAB, max_position_embeddings=24,
        type_vocab_size=3, layer_norm_eps=1e-3, tie_word_embeddings=tied,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        attn_implementation="eager", **more)))


LLAMAS = {"llama": (LlamaConfig, LlamaForCausalLM),
          "mistral": (MistralConfig, MistralForCausalLM),
          "qwen2": (Qwen2Config, Qwen2ForCausalLM),
          "qwen3": (Qwen3Config, Qwen3ForCausalLM)}


def llama(variant="llama", tied=True, **more):
    torch.manual_seed(5)
    config, kind = LLAMAS[variant]
    return randomized(kind(config(**{
        "num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 80,
        "vocab_size": VOCAB, "max_position_embeddings": 24,
        "rms_norm_eps": 1e-4, "tie_word_embeddings": tied,
        "attn_implementation": "eager"} | more)))


def gpt2_data(path, samples, seed=3):
    """Write a .bin file; returns its samples as docs/data.md defines them."""
    tokens = numpy.random.default_rng(seed).integers(
        0, VOCAB, samples * SEQ + 1 + 5)  # with a tail that is dropped
    tokens.astype("<u2").tofile(path)
    return [{"ids": torch.tensor(tokens[i * SEQ:i * SEQ + SEQ]),
             "targets": torch.tensor(tokens[i * SEQ + 1:i * SEQ + SEQ + 1])}
            for i in range(samples)]


def bert_data(path, samples, seed=4):
    """Write prepared lines. Between none and all positions of a sample are
    masked, so micro-batches differ in weight; some have no target at all."""
    random = numpy.random.default_rng(seed)
    lines = []
    for i in range(samples):
        labels = numpy.full(SEQ, -100)
        masked = [0, 0, SEQ, 1][i] if i < 4 else random.integers(SEQ // 2)
        places = random.permutation(SEQ)[:masked]
        labels[places] = random.integers(0, VOCAB, masked)
        lines.append({"input_ids": random.integers(0, VOCAB, SEQ).tolist(),
                      "token_type_ids": random.integers(0, 2, SEQ).tolist(),
                      "labels": labels.tolist(),
                      "next_sentence_label": int(random.integers(2))})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [{key: torch.tensor(value) for key, value in line.items()}
            for line in lines]


def loss_of(model, samples):
    batch = {key: torch.stack([sample[key] for sample in samples])
             for key in samples[0]}
    if "targets" not in batch:
        return model(**batch).loss
    logits = model(input_ids=batch["ids"]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1),
                                             batch["targets"].flatten())


def rate(step, options):
    lr, low = options["lr"], options.get("min_lr", 0)
    warmup = options.get("warmup", 0)
    if step < warmup:
        return lr * (step + 1) / warmup
    progress = (step - warmup) / (options["steps"] - warmup)
    return {"constant": lr, "linear": lr - (lr - low) * progress,
            "cosine": low + (lr - low) * (1 + math.cos(math.pi * progress)) / 2
            }[options.get("decay", "constant")]


def make_optimizer(model, options):
    kind = options.get("optimizer", "adamw")
    if kind == "sgd":
        return torch.optim.SGD(model.parameters(),
                               momentum=options.get("momentum", 0))
    if kind == "adam":
        return torch.optim.Adam(model.parameters(), eps=options["eps"])
    undecayed = set()
    if not options.get("decay_all", True):
        for module in model.modules():
            exempt = (isinstance(module, (torch.nn.LayerNorm,
                                          torch.nn.Embedding)) or
                      type(module).__name__.endswith("RMSNorm"))
            undecayed |= {parameter for name, parameter
                          in module.named_parameters(recurse=False)
                          if exempt or name == "bias"}
    return torch.optim.AdamW(
        [{"params": [p for p in model.parameters() if p not in undecayed],
          "weight_decay": options["weight_decay"]},
         {"params": list(undecayed), "weight_decay": 0}],
        betas=options.get("betas", (0.9, 0.999)), eps=options["eps"])


def train_here(model, samples, batch_size, options):
    """Train in torch; yields loss, gradient norm and rate after each update."""
    optimizer = make_optimizer(model, options)
    for step in range(options["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, options)
        with torch.autocast("cpu", torch.bfloat16,
                            enabled=options.get("precision") == "bf16"):
            loss = loss_of(model, [
                samples[n % len(samples)]
                for n in range(step * batch_size, (step + 1) * batch_size)])
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(
            model.parameters(), options.get("clip", 0) or math.inf)
        optimizer.step()
        yield loss.item(), norm.item(), rate(step, options)


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="chimera_oracle.")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.root))

    def load(self, kind, path):
        model, notes = kind.from_pretrained(
            path, output_loading_info=True, attn_implementation="eager")
        for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            self.assertFalse(notes[problem], problem)
        return model

    def weight_difference(self, model, before, folder):
        """The relative root mean square difference of the tensor that differs
        most, relative to its distance from `before`. (Single numbers with a
        gradient near zero may go anywhere: Adam's steps are as long for them as
        for others.)"""
        loaded = self.load(type(model), folder / "export")
        for key, value in model.config.to_dict().items():
            if key not in ("_name_or_path", "transformers_version", "dtype"):
                self.assertEqual(getattr(loaded.config, key), value, key)
        exported, mine = loaded.state_dict(), model.state_dict()
        self.assertEqual(set(exported), set(mine))
        if not model.config.tie_word_embeddings:
            # Not part of an untied BERT's loss: the decoder has a separate
            # bias.
            mine.pop("cls.predictions.bias", None)
        def distance(other, name):
            return (mine[name] - other[name]).square().mean().sqrt().item()
        # A key bias has a gradient of pure rounding errors, of which Adam makes
        # full steps: it is compared separately.
        moved = [name for name in mine if not name.endswith("key.bias")]
        for name in set(mine) - set(moved):
            self.assertLess(distance(exported, name), ROUNDING / 10, name)
        return numpy.max([
            distance(exported, name) / (distance(before, name) + ROUNDING)
            for name in moved])

    def compare(self, name, model, schedule, save={}, **options):
        """Save `model` as `save` says, and train it with chimera and with
        torch."""
        with self.subTest(name):
            losses, norms, weights = self.differences(
                name, model, schedule, save, TRAIN | options)
            self.assertLess(losses, LOSS)
            self.assertLess(norms, NORM)
            self.assertLess(weights, WEIGHT)

    def differences(self, name, model, schedule, save, options, here={}):
        """The largest differences of losses, norms and weights. `here`
        overrides options on the torch side."""
        folder = self.folder()
        model.save_pretrained(folder / "init", **save)
        model = self.load(type(model), folder / "init").train().float()
        before = {name: value.clone()
                  for name, value in model.state_dict().items()}
        kind = {"gpt2": "gpt2", "bert": "bert"}.get(model.config.model_type,
                                                    "llama")
        if kind == "bert":
            path, write = folder / "data.jsonl", bert_data
        else:
            path, write = folder / "data.bin", gpt2_data
        samples = write(path, 21)  # fewer than are used: the order wraps
        metrics, _, _ = train(
            folder, model={"kind": kind, "init": str(folder / "init"),
                           "seq": SEQ},
            schedule=schedule, train=options,
            data={"path": str(path), "order": "sequential"})
        self.assertEqual(len(metrics), options["steps"])
        batch_size = (schedule["micros"] * schedule["micro_batch"] *
                      schedule.get("width", 1))
        differences = []
        steps = train_here(model, samples, batch_size, options | here)
        for line, (loss, norm, lr) in zip(metrics, steps):
            differences.append([abs(line["loss"] - loss) / max(1, loss),
                                abs(line["grad_norm"] - norm) / norm])
            self.assertAlmostEqual(line["lr"] / lr, 1, delta=1e-8)
            self.assertEqual(line["tokens"], batch_size * SEQ)
        losses, norms = numpy.max(differences, axis=0)  # propagates NaN
        # In bf16 Adam makes full steps of rounding errors: no weight is near.
        weights = (math.nan if options.get("precision") == "bf16" else
                   self.weight_difference(model, before, folder))
        print(f"{kind} {name}: worst difference of losses {losses:.1e}, norms "
              f"{norms:.1e}, weights {weights:.1e}", flush=True)
        return losses, norms, weights

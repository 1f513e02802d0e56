"""Trains a Hugging Face model from its own weights over all ranks, and stores
it as Hugging Face reads it.

    pip install . transformers          # in an environment with torch 2.13
    python3 examples/stories/make_stories.py -o /tmp/stories.txt
    torchrun --nproc_per_node=4 examples/05_python_hugging_face/train.py \\
        --model gpt2 --text /tmp/stories.txt --output /tmp/gpt2-trained

Without torchrun it runs the same pipeline on four threads. Without --model it
makes a small GPT-2 with random weights and reads bytes as tokens.
"""

import argparse
import pathlib

import torch
import torch.distributed as dist
import transformers

import chimera.torch


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--model", help="a name or folder of transformers")
    parser.add_argument("--text", default=__file__, help="a text to learn")
    parser.add_argument("--output", help="folder for the trained model")
    parser.add_argument("--schedule", default="chimera")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--length", type=int, default=32)
    return parser.parse_args()


def load(name):
    """The model, and what turns text into its tokens."""
    if name:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name)
        return model, lambda text: tokenizer(text)["input_ids"]
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=256, n_positions=64, n_embd=64, n_layer=6, n_head=4)
    return transformers.GPT2LMHeadModel(config), lambda text: list(
        text.encode())


def batches(tokens, count, samples, length):
    """Windows of the text: tokens and the tokens that follow them."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.tensor(tokens)
    for _ in range(count):
        starts = torch.randint(0, len(tokens) - length - 1, (samples,),
                               generator=generator)
        windows = torch.stack([tokens[start:start + length + 1]
                               for start in starts])
        yield windows[:, :-1], windows[:, 1:]


def loss_fn(logits, y):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def main():
    arguments = parse_arguments()
    distributed = dist.is_torchelastic_launched()
    if distributed:
        dist.init_process_group("gloo")
    model, encode = load(arguments.model)
    model.train()
    pipe = chimera.torch.Pipeline(
        chimera.torch.from_transformers(model), loss_fn,
        schedule=arguments.schedule, micros=4,
        workers=None if distributed else 4)
    is_first = not distributed or dist.get_rank() == 0
    if is_first:
        print(pipe)
    optimizer = torch.optim.AdamW(pipe.parameters(), lr=1e-3)
    text = encode(pathlib.Path(arguments.text).read_text())
    for step, (x, y) in enumerate(batches(text, arguments.steps, 8,
                                          arguments.length)):
        loss = pipe.step(x, y)
        pipe.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
        if is_first:
            print(f"step {step + 1}: loss {loss:.4f}")
    weights = pipe.state_dict()  # all ranks give their part
    if is_first and arguments.output:
        model.save_pretrained(arguments.output, state_dict=weights)
        print(f"stored in {arguments.output}")
    if distributed:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Small models of transformers with random weights."""

import torch
import transformers

import chimera.torch

SIZES = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 6,
         "num_attention_heads": 4, "attn_implementation": "eager"}
LLAMA = {**SIZES, "intermediate_size": 48, "num_key_value_heads": 2,
         "max_position_embeddings": 32, "tie_word_embeddings": True}


def model(name, seed=7):
    torch.manual_seed(seed)
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            **SIZES, n_positions=32, resid_pdrop=0, embd_pdrop=0,
            attn_pdrop=0))
    if name == "bert":
        return transformers.BertForMaskedLM(transformers.BertConfig(
            **SIZES, intermediate_size=48, max_position_embeddings=32,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    if name == "llama":
        return transformers.LlamaForCausalLM(
            transformers.LlamaConfig(**LLAMA))
    if name in ("mistral", "mistral_sliding"):
        return transformers.MistralForCausalLM(transformers.MistralConfig(
            **LLAMA, sliding_window=3 if "sliding" in name else None))
    if name == "qwen2_sliding":  # in every block but the first two
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
            **LLAMA, use_sliding_window=True, sliding_window=3,
            max_window_layers=2))
    if name == "qwen2":
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**LLAMA))
    assert name == "qwen3"
    return transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(**LLAMA, head_dim=8))


def loss_fn(logits, y):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def batches(count, samples=8, length=6, seed=8):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(samples, length, dtype=torch.long)
    mask[::3, -2:] = 0
    return [((torch.randint(0, 64, (samples, length), generator=generator),
              mask), torch.randint(0, 64, (samples, length),
                                   generator=generator))
            for _ in range(count)]


def make(name, steps):
    """Layers, loss, batches and model; "gpt2-double" is GPT-2 in float64."""
    name, _, double = name.partition("-")
    whole = model(name)
    if double:
        whole.double()
    return (chimera.torch.from_transformers(whole), loss_fn, batches(steps),
            whole)

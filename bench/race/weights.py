"""One file of initial weights for all contestants: a Hugging Face directory."""
import json
import pathlib
import struct

import torch

from models import make_layers

GPT2 = {  # module attribute: (name, whether the file holds it transposed)
    "wte": ("transformer.wte", False), "wpe": ("transformer.wpe", False),
    "ln_1": ("transformer.h.{}.ln_1", False),
    "c_attn": ("transformer.h.{}.attn.c_attn", True),
    "c_proj": ("transformer.h.{}.attn.c_proj", True),
    "ln_2": ("transformer.h.{}.ln_2", False),
    "c_fc": ("transformer.h.{}.mlp.c_fc", True),
    "c_out": ("transformer.h.{}.mlp.c_proj", True),
    "ln_f": ("transformer.ln_f", False), "lm_head": ("lm_head", False)}
BERT = {
    "words": ("bert.embeddings.word_embeddings", False),
    "positions": ("bert.embeddings.position_embeddings", False),
    "types": ("bert.embeddings.token_type_embeddings", False),
    "query": ("bert.encoder.layer.{}.attention.self.query", False),
    "key": ("bert.encoder.layer.{}.attention.self.key", False),
    "value": ("bert.encoder.layer.{}.attention.self.value", False),
    "out": ("bert.encoder.layer.{}.attention.output.dense", False),
    "norm_1": ("bert.encoder.layer.{}.attention.output.LayerNorm", False),
    "up": ("bert.encoder.layer.{}.intermediate.dense", False),
    "down": ("bert.encoder.layer.{}.output.dense", False),
    "norm_2": ("bert.encoder.layer.{}.output.LayerNorm", False),
    "pooler": ("bert.pooler.dense", False),
    "transform": ("cls.predictions.transform.dense", False),
    "decoder": ("cls.predictions.decoder", False),
    "next": ("cls.seq_relationship", False)}


def stored_name(shape, layer_index, parameter):
    """The name of a layer's parameter in the file, and whether it is
    transposed."""
    attribute, kind = parameter.rsplit(".", 1)
    if shape.kind == "gpt2":
        name, turned = GPT2[attribute]
        return f"{name.format(layer_index - 1)}.{kind}", turned and kind == "weight"
    if attribute == "norm":
        prefix = ("bert.embeddings" if layer_index == 0
                  else "cls.predictions.transform")
        return f"{prefix}.LayerNorm.{kind}", False
    if (attribute, kind) == ("decoder", "bias"):
        return "cls.predictions.bias", False
    return f"{BERT[attribute][0].format(layer_index - 1)}.{kind}", False


def load(shape, layers, first_layer, tensors):
    """Fill `layers`, which start with layer `first_layer`, in place."""
    with torch.no_grad():
        for offset, layer in enumerate(layers):
            for parameter, value in layer.named_parameters():
                name, turned = stored_name(shape, first_layer + offset, parameter)
                stored = tensors[name]
                value.copy_(stored.t() if turned else stored)


def initial_tensors(shape):
    """Normal with deviation 0.02, norms one, biases zero; by stored name."""
    generator = torch.Generator().manual_seed(1)
    tensors = {}
    for index, layer in enumerate(make_layers(shape)):
        for parameter, value in layer.named_parameters():
            name, turned = stored_name(shape, index, parameter)
            if value.dim() == 1:
                is_norm_weight = parameter.endswith("weight")
                tensors[name] = torch.full_like(value.detach(), is_norm_weight)
                continue
            random = 0.02 * torch.randn(value.shape, generator=generator)
            tensors[name] = random.t().contiguous() if turned else random
    return tensors


def write_directory(shape, directory):
    """Write config.json and model.safetensors; returns the tensors."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    tensors = initial_tensors(shape)
    header, offset = {}, 0
    for name, value in tensors.items():
        size = 4 * value.numel()
        header[name] = {"dtype": "F32", "shape": list(value.shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(directory / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.numpy().tobytes())
    (directory / "config.json").write_text(json.dumps(config_of(shape)))
    return tensors


def config_of(shape):
    if shape.kind == "gpt2":
        return {"model_type": "gpt2", "n_layer": shape.layers,
                "n_embd": shape.hidden, "n_head": shape.heads,
                "vocab_size": shape.vocab, "n_positions": shape.seq,
                "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
                "tie_word_embeddings": False}
    return {"model_type": "bert", "num_hidden_layers": shape.layers,
            "hidden_size": shape.hidden, "num_attention_heads": shape.heads,
            "intermediate_size": 4 * shape.hidden, "vocab_size": shape.vocab,
            "max_position_embeddings": shape.seq, "type_vocab_size": 2,
            "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
            "tie_word_embeddings": False}

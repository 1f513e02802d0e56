"""Models of transformers as lists of layers, without changes to their code.

A layer holds modules of the model under their names in the model, so that the
pipeline's state_dict() is the model's. Other inputs of the model's blocks
(attention mask, positions) are computed again in every layer, from the mask or
from the shape alone.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import torch
from torch import nn

from chimera._error import refuse


class _Part(nn.Module):
    """Some modules of a model, under their names in it."""

    state_prefix = ""

    def __init__(self, model: nn.Module, names: list[str]):
        super().__init__()
        for name in names:
            self._hold(model, name)

    def _hold(self, model: nn.Module, name: str) -> None:
        *path, last = name.split(".")
        holder: nn.Module = self
        for step in path:
            if step not in holder._modules:
                holder.add_module(step, nn.Module())
            holder = holder._modules[step]
        holder.add_module(last, model.get_submodule(name))


def _first(output: Any) -> torch.Tensor:
    """Blocks of transformers 4 return tuples, those of 5 tensors."""
    return output[0] if isinstance(output, tuple) else output


class _Embedding(_Part):
    """Turns token ids, and a mask if there is one, into hidden states."""

    def __init__(self, model: nn.Module, names: list[str],
                 embed: Callable[[nn.Module, torch.Tensor], torch.Tensor]):
        super().__init__(model, names)
        self._embed = embed

    def forward(self, ids: torch.Tensor, *mask: torch.Tensor):
        hidden = self._embed(self, ids)
        return (hidden, *mask) if mask else hidden


class _Block(_Part):
    """One block. `call` runs it on hidden states and the mask (or None)."""

    def __init__(self, model: nn.Module, names: list[str],
                 call: Callable[[nn.Module, torch.Tensor, Any], torch.Tensor]):
        super().__init__(model, names)
        self._call = call

    def forward(self, hidden: torch.Tensor, *mask: torch.Tensor):
        output = self._call(self, hidden, mask[0] if mask else None)
        return (output, *mask) if mask else output


class _Head(_Part):
    def __init__(self, model: nn.Module, names: list[str],
                 head: Callable[[nn.Module, torch.Tensor], torch.Tensor]):
        super().__init__(model, names)
        self._head = head

    def forward(self, hidden: torch.Tensor, *_mask: torch.Tensor):
        return self._head(self, hidden)


def _causal_mask(config: Any, hidden: torch.Tensor, mask: torch.Tensor | None,
                 slides: bool = False) -> torch.Tensor | None:
    """The mask that transformers gives to a block. slides: attention is limited
    to config.sliding_window tokens."""
    from transformers import masking_utils

    make = (masking_utils.create_sliding_window_causal_mask if slides
            else masking_utils.create_causal_mask)
    positions = torch.arange(hidden.shape[1], device=hidden.device)
    # Names differ between transformers 4 and 5.
    values = {"config": config, "attention_mask": mask, "past_key_values": None,
              "position_ids": positions.unsqueeze(0), "inputs_embeds": hidden,
              "input_embeds": hidden, "cache_position": positions}
    names = inspect.signature(make).parameters
    return make(**{name: value for name, value in values.items()
                   if name in names})


def _slides(config: Any, index: int) -> bool:
    """Whether block number `index` attends to a sliding window only."""
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return kinds[index] == "sliding_attention"
    return getattr(config, "sliding_window", None) is not None


def _positions(hidden: torch.Tensor) -> torch.Tensor:
    return torch.arange(hidden.shape[1], device=hidden.device).unsqueeze(0)


def _gpt2(model: nn.Module) -> list[nn.Module]:
    config = model.config

    def embed(part: nn.Module, ids: torch.Tensor) -> torch.Tensor:
        body = part.transformer
        positions = torch.arange(ids.shape[1], device=ids.device)
        return body.drop(body.wte(ids) + body.wpe(positions.unsqueeze(0)))

    def block(index: int):
        def call(part: nn.Module, hidden: torch.Tensor, mask: Any):
            own = part.get_submodule(f"transformer.h.{index}")
            return _first(own(hidden, attention_mask=_causal_mask(
                config, hidden, mask)))
        return call

    def head(part: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        return part.lm_head(part.transformer.ln_f(hidden))

    return [_Embedding(model, ["transformer.wte", "transformer.wpe",
                               "transformer.drop"], embed),
            *(_Block(model, [f"transformer.h.{index}"], block(index))
              for index in range(config.num_hidden_layers)),
            _Head(model, ["transformer.ln_f", "lm_head"], head)]


def _llama_like(model: nn.Module) -> list[nn.Module]:
    """Llama, Mistral, Qwen2 and Qwen3, which differ only inside their blocks.
    """
    config = model.config

    def embed(part: nn.Module, ids: torch.Tensor) -> torch.Tensor:
        return part.model.embed_tokens(ids)

    def block(index: int):
        rotary = model.model.rotary_emb  # has no parameters
        slides = _slides(config, index)

        def call(part: nn.Module, hidden: torch.Tensor, mask: Any):
            positions = _positions(hidden)
            own = part.get_submodule(f"model.layers.{index}")
            return _first(own(
                hidden, position_ids=positions,
                attention_mask=_causal_mask(config, hidden, mask, slides),
                position_embeddings=rotary(hidden, positions)))
        return call

    def head(part: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        return part.lm_head(part.model.norm(hidden))

    return [_Embedding(model, ["model.embed_tokens"], embed),
            *(_Block(model, [f"model.layers.{index}"], block(index))
              for index in range(config.num_hidden_layers)),
            _Head(model, ["model.norm", "lm_head"], head)]


def _bert(model: nn.Module) -> list[nn.Module]:
    """BertForMaskedLM."""
    config = model.config

    def embed(part: nn.Module, ids: torch.Tensor) -> torch.Tensor:
        return part.bert.embeddings(input_ids=ids)

    def both_ways(hidden: torch.Tensor, mask: Any) -> Any:
        if mask is None:
            return None
        minimum = torch.finfo(hidden.dtype).min
        return (1.0 - mask[:, None, None, :].to(hidden.dtype)) * minimum

    def block(index: int):
        def call(part: nn.Module, hidden: torch.Tensor, mask: Any):
            own = part.get_submodule(f"bert.encoder.layer.{index}")
            return _first(own(hidden, both_ways(hidden, mask)))
        return call

    def head(part: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        return part.cls(hidden)

    return [_Embedding(model, ["bert.embeddings"], embed),
            *(_Block(model, [f"bert.encoder.layer.{index}"], block(index))
              for index in range(config.num_hidden_layers)),
            _Head(model, ["cls"], head)]


_MODELS: dict[str, Callable[[nn.Module], list[nn.Module]]] = {
    "BertForMaskedLM": _bert,
    "GPT2LMHeadModel": _gpt2,
    "LlamaForCausalLM": _llama_like,
    "MistralForCausalLM": _llama_like,
    "Qwen2ForCausalLM": _llama_like,
    "Qwen3ForCausalLM": _llama_like,
}


def from_transformers(model: nn.Module) -> list[nn.Module]:
    """The layers of a transformers model: embeddings, blocks, head.

    Accepts BertForMaskedLM and the causal models of GPT-2, Llama, Mistral,
    Qwen2 and Qwen3. The layers are the model's modules under the model's names:
    train them, then call ``model.save_pretrained(folder,
    state_dict=pipe.state_dict())``. x is the token ids, or (ids, attention
    mask); the output is the logits.
    """
    name = type(model).__name__
    if name not in _MODELS:
        raise refuse("E812", f"a model of class {name}", "is not known",
                     f"one of {', '.join(_MODELS)}, or give Pipeline a list "
                     "of layers of your own")
    return _MODELS[name](model)

"""Compares from_transformers with the models' own forwards."""

import copy

import pytest

torch = pytest.importorskip("torch")
chimera_torch = pytest.importorskip("chimera.torch")
pytest.importorskip("transformers")

import chimera
import hf_models
import models

NAMES = ["gpt2", "bert", "llama", "mistral", "qwen2", "qwen3"]


@pytest.mark.parametrize("name", [*NAMES, "mistral_sliding", "qwen2_sliding"])
@pytest.mark.parametrize("masked", [False, True])
def test_layers_compute_what_the_model_does(name, masked):
    model = hf_models.model(name)
    (ids, mask), _ = hf_models.batches(1)[0]
    arguments = (ids, mask) if masked else (ids,)
    expected = model(ids, attention_mask=mask if masked else None).logits
    outputs = arguments
    for layer in chimera_torch.from_transformers(model):
        outputs = layer(*outputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    shown = mask.bool() if masked else torch.ones_like(mask).bool()
    torch.testing.assert_close(outputs[0][shown], expected[shown])


@pytest.mark.parametrize("name", [*NAMES, "gpt2-double", "qwen2-double"])
def test_training_agrees_with_the_model_itself(name):
    layers, loss_fn, batches, model = hf_models.make(name, 3)
    plain, plain_model = copy.deepcopy((layers, model))
    expected, _ = models.train_plain(plain, loss_fn, batches)
    pipe = chimera_torch.Pipeline(layers, loss_fn, schedule="zb-v", micros=4,
                                  workers=2)
    losses, _ = models.train_pipe(pipe, batches)
    models.assert_agree(losses, pipe.state_dict(), expected,
                        plain_model.state_dict())
    assert any("lm_head" in each or "attn" in each or "proj" in each
               or "decoder" in each for each in pipe.split.split)


def test_an_unknown_model_says_what_is_known():
    with pytest.raises(chimera.Error, match="GPT2LMHeadModel"):
        chimera_torch.from_transformers(torch.nn.Linear(2, 2))

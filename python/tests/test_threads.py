"""chimera.torch with threads as ranks, against plain torch."""

import copy

import pytest

torch = pytest.importorskip("torch")
chimera_torch = pytest.importorskip("chimera.torch")

import chimera
import models


def agree(layers, loss_fn, batches, clip=None, **options):
    plain = copy.deepcopy(layers)
    expected, norms = models.train_plain(plain, loss_fn, batches, clip=clip)
    pipe = chimera_torch.Pipeline(layers, loss_fn, **options)
    losses, found_norms = models.train_pipe(pipe, batches, clip=clip)
    assert found_norms == pytest.approx(norms, rel=1e-4)
    models.assert_agree(losses, pipe.state_dict(), expected,
                        torch.nn.ModuleList(plain).state_dict())
    return pipe


@pytest.mark.parametrize("scheme", ["chimera", "planned", "1f1b", "gpipe",
                                    "zb-h1", "zb-v", "interleaved"])
def test_every_scheme_agrees_with_plain_torch(scheme):
    agree(models.language_model(), models.tokens_loss,
          models.token_batches(5), schedule=scheme, micros=4, workers=4,
          clip=0.5)


def test_adam_in_double():
    layers = [layer.double() for layer in models.language_model()]
    agree(layers, models.tokens_loss, models.token_batches(5),
          schedule="chimera", micros=4, workers=4)


def test_width_and_untied_and_frozen():
    agree(models.language_model(tied=False, frozen=True), models.tokens_loss,
          models.token_batches(5), schedule="chimera", micros=2, width=2,
          workers=4)


def test_tuples_and_shapes_that_differ():
    agree(models.convolutions(), torch.nn.functional.mse_loss,
          models.image_batches(5), schedule="chimera", micros=4, workers=4)


def test_recomputation_and_a_given_cut():
    schedule = chimera.schedule("1f1b", depth=2, micros=4)
    pipe = agree(models.language_model(), models.tokens_loss,
                 models.token_batches(5), cut=[0, 3],
                 schedule=schedule.lower(recompute=True, tied=True), workers=2)
    assert pipe.cut == [0, 3]


def test_dropout_is_the_same_when_recomputed():
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
              for _ in range(2)]
    batch = torch.randn(4, 4), torch.randn(4, 4)
    grads = []
    for recompute in (False, True):
        schedule = chimera.schedule("1f1b", depth=2, micros=1)
        pipe = chimera_torch.Pipeline(
            copy.deepcopy(layers), torch.nn.functional.mse_loss,
            schedule=schedule.lower(recompute=recompute), workers=2)
        torch.manual_seed(5)
        pipe.step(*batch)
        grads.append([each.grad.clone() for each in pipe.parameters()])
    for a, b in zip(*grads):
        assert torch.equal(a, b)


@pytest.mark.parametrize("recompute", [False, True])
def test_autocast_around_a_step(recompute):
    layers = models.language_model(tied=False)
    plain = copy.deepcopy(layers)
    schedule = chimera.schedule("chimera", depth=2, micros=2)
    pipe = chimera_torch.Pipeline(
        layers, models.tokens_loss, workers=2,
        schedule=schedule.lower(recompute=recompute))
    x, y = models.token_batches(1)[0]
    modules = torch.nn.Sequential(*plain)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = float(pipe.step(x, y))
        losses = [models.tokens_loss(modules(x[part]), y[part]) / 2
                  for part in (slice(0, 4), slice(4, 8))]
    for loss in losses:
        loss.backward()
    assert found == pytest.approx(float(sum(losses).detach()), abs=1e-6)
    expected = dict(torch.nn.ModuleList(plain).named_parameters())
    for name, parameter in pipe.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name].grad)


def test_steps_without_zero_grad_accumulate():
    layers = models.language_model()
    plain = copy.deepcopy(layers)
    pipe = chimera_torch.Pipeline(layers, models.tokens_loss, micros=4,
                                  workers=4)
    modules = torch.nn.Sequential(*plain)
    for x, y in models.token_batches(3):
        pipe.step(x, y)
        models.tokens_loss(modules(x), y).backward()
    expected = dict(torch.nn.ModuleList(plain).named_parameters())
    for name, parameter in pipe.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name].grad)


def test_evaluation_leaves_everything_as_it_is():
    layers = [torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4),
              torch.nn.Dropout(0.5), torch.nn.Linear(4, 1)]
    plain = copy.deepcopy(torch.nn.Sequential(*layers)).eval()
    pipe = chimera_torch.Pipeline(layers, torch.nn.functional.mse_loss,
                                  schedule="gpipe", micros=2, workers=2)
    before = {name: value.clone() for name, value in pipe.state_dict().items()}
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    expected = torch.nn.functional.mse_loss(plain(x), y).detach()
    assert float(pipe.eval_step(x, y)) == pytest.approx(float(expected))
    for name, value in pipe.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(layer.training for layer in layers)
    # A batch of another size has other shapes.
    assert pipe.eval_step(x[:2], y[:2]).dim() == 0


def test_state_dict_round_trip():
    pipe = chimera_torch.Pipeline(models.language_model(), models.tokens_loss,
                                  micros=4, workers=4)
    other = models.language_model(seed=9)
    state = torch.nn.ModuleList(other).state_dict()
    pipe.load_state_dict(state)
    for name, value in pipe.state_dict().items():
        assert torch.equal(value, state[name])
    with pytest.raises(KeyError, match="unknown .*'extra'"):
        pipe.load_state_dict({**state, "extra": torch.zeros(1)})


def test_split_backward_is_reported_and_can_be_turned_off():
    pipe = chimera_torch.Pipeline(models.language_model(), models.tokens_loss,
                                  schedule="zb-h1", micros=4, workers=2)
    assert "1.up" in pipe.split.split and "1.norm" in pipe.split.whole
    whole = agree(models.language_model(), models.tokens_loss,
                  models.token_batches(2), schedule="zb-h1", micros=4,
                  workers=2, split_backward=False)
    assert whole.split.split == []


def test_trace_shows_the_step():
    pytest.importorskip("numpy")
    pipe = chimera_torch.Pipeline(models.language_model(), models.tokens_loss,
                                  schedule="zb-h1", micros=4, workers=2)
    pipe.step(*models.token_batches(1)[0])
    trace = pipe.trace()
    count = {op: int((trace["op"] == op).sum()) for op in "FIW"}
    assert count["F"] == 8 and count["I"] > 0
    assert trace["start"].min() == 0
    assert pipe.svg().startswith("<svg")


def test_the_loss_is_shared_before_the_step_ends():
    pytest.importorskip("numpy")
    pipe = chimera_torch.Pipeline(models.language_model(), models.tokens_loss,
                                  schedule="1f1b", micros=4, workers=3)
    pipe.step(*models.token_batches(1)[0])
    trace = pipe.trace()
    for worker in range(3):
        own = trace[trace["worker"] == worker]
        last_backward = own[own["op"] == "B"][-1]
        assert own[own["op"] == "N"]["start"][0] < last_backward["start"]


def test_an_exception_of_a_layer_comes_through():
    class Broken(torch.nn.Module):
        def forward(self, x):
            if self.training:
                raise ZeroDivisionError("in the layer")
            return x

    pipe = chimera_torch.Pipeline(
        [torch.nn.Linear(4, 4), Broken(), torch.nn.Linear(4, 4)],
        torch.nn.functional.mse_loss, schedule="1f1b", micros=2, workers=3)
    with pytest.raises(ZeroDivisionError, match="in the layer"):
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))
    with pytest.raises(chimera_torch.PipelineError, match="failed before"):
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))

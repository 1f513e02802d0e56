"""Error messages of wrong requests."""

import sys

import pytest

torch = pytest.importorskip("torch")
chimera_torch = pytest.importorskip("chimera.torch")

import chimera
import models

mse = torch.nn.functional.mse_loss


def pipeline(layers=None, loss_fn=mse, **options):
    layers = layers or [torch.nn.Linear(4, 4) for _ in range(4)]
    return chimera_torch.Pipeline(layers, loss_fn, **options)


@pytest.mark.parametrize("options, text", [
    ({"micros": 2}, "init_process_group.*workers=4"),
    ({"workers": 0, "micros": 2}, "at least 1"),
    ({"workers": 2}, "micros is missing"),
    ({"workers": 3, "micros": 2, "width": 2}, "3 ranks cannot be 2 copies"),
    ({"workers": 8, "micros": 8}, "4 layers are fewer than .* 8 stages"),
    ({"workers": 2, "micros": 2, "cut": [0, 9]}, "E"),
    ({"workers": 2, "schedule": "pipedream", "micros": 2}, "synchronous"),
    ({"workers": 2, "schedule": "nonsense", "micros": 2}, "nonsense"),
    ({"workers": 2, "layers": [torch.nn.Linear(4, 4), "x"], "micros": 2},
     "layer 1 is a str"),
    ({"workers": 3, "micros": 4}, "depth = 3 must be even"),
    ({"workers": 2, "layers": torch.nn.Linear(4, 4), "micros": 2},
     "layers is a Linear.*list"),
])
def test_requests(options, text):
    with pytest.raises(chimera.Error, match=text):
        pipeline(**options)


def test_a_schedule_that_does_not_fit():
    schedule = chimera.schedule("1f1b", depth=4, micros=4)
    with pytest.raises(chimera.Error, match="2 ranks do not fit.*4 x 1"):
        pipeline(schedule=schedule, workers=2)
    with pytest.raises(chimera.Error, match="contradicts"):
        pipeline(schedule=schedule, workers=4, micros=8)
    halving = chimera.schedule("chimera", depth=2, micros=4, scale="halving")
    with pytest.raises(chimera.Error, match="halving"):
        pipeline(schedule=halving, workers=2)


def test_shared_parameters():
    one = torch.nn.Linear(4, 4)
    with pytest.raises(chimera.Error, match="shared by layers"):
        pipeline([one, one, one, torch.nn.Linear(4, 4)], workers=2, micros=2)
    with pytest.raises(chimera.Error, match="first and the last stage"):
        pipeline([torch.nn.Linear(4, 4), one, one, torch.nn.Linear(4, 4)],
                 workers=4, micros=4, cut=[0, 1, 2, 3])


def test_types_of_parameters():
    with pytest.raises(chimera.Error, match="float32 or float64"):
        pipeline([torch.nn.Linear(4, 4).half() for _ in range(2)], workers=2,
                 micros=2)


@pytest.mark.parametrize("bad, text", [
    (lambda x: {"x": x}, "layer 1 .*returned dict.*tuple of tensors"),
    (lambda x: (x, 3), "tuple of Tensor, int"),
])
def test_outputs_that_are_not_tensors(bad, text):
    pipe = pipeline([torch.nn.Linear(4, 4), bad, torch.nn.Linear(4, 4)],
                    workers=2, micros=2, schedule="1f1b", cut=[0, 2])
    with pytest.raises(TypeError, match=text):
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))


def test_an_error_names_its_layer():
    pipe = pipeline([torch.nn.Linear(4, 4), lambda x, mask: x], workers=2,
                    micros=2, schedule="1f1b")
    with pytest.raises(TypeError, match="mask") as caught:
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == [
            "in layer 1 (function) of the pipeline"]


def test_a_loss_that_is_no_number():
    pipe = pipeline(loss_fn=lambda out, y: out - y, workers=2, micros=2)
    with pytest.raises(TypeError, match=r"loss_fn returned a tensor of shape"):
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))


def test_a_shape_that_changes():
    calls = []

    def changing(x):
        calls.append(1)
        return x if len(calls) < 4 else x[:, :2]

    pipe = pipeline([torch.nn.Linear(4, 4), changing, torch.nn.Flatten()],
                    schedule="1f1b", workers=2, micros=2, cut=[0, 2])
    pipe.step(torch.randn(4, 4), torch.randn(4, 4))
    with pytest.raises(ValueError, match=r"layer 1 returned \(\[2, 2\]"):
        pipe.step(torch.randn(4, 4), torch.randn(4, 4))


def test_batches():
    pipe = pipeline(workers=2, micros=4)
    with pytest.raises(ValueError, match="multiple of 4"):
        pipe.step(torch.randn(6, 4), torch.randn(6, 4))
    with pytest.raises(ValueError, match="same number"):
        pipe.step(torch.randn(8, 4), torch.randn(4, 4))
    with pytest.raises(TypeError, match="x holds a dict"):
        pipe.step({}, torch.randn(4, 4))

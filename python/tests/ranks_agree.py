"""Run by torchrun: compares every case of the command line, on all ranks, with
plain torch. A case is model:scheme:micros:width[:exact]."""

import copy
import datetime
import sys

import torch
import torch.distributed as dist

import chimera.torch
import models

STEPS = 5


def make(model):
    """Layers, loss, batches, and the module that names the weights."""
    if model == "conv":
        layers = models.convolutions()
        return (layers, torch.nn.functional.mse_loss,
                models.image_batches(STEPS), torch.nn.ModuleList(layers))
    if model in ("tied", "untied"):
        layers = models.language_model(tied=model == "tied",
                                       frozen=model != "tied")
        return (layers, models.tokens_loss, models.token_batches(STEPS),
                torch.nn.ModuleList(layers))
    import hf_models
    return hf_models.make(model, STEPS)


def gradients(pipe, batch):
    """The gradients of one step by name; they are zeroed afterwards."""
    pipe.step(*batch)
    found = {name: each.grad.clone() for name, each in pipe.named_parameters()
             if each.requires_grad}
    for each in pipe.parameters():
        each.grad = None
    return found


def assert_same_bits(pipe, threads, batch):
    """Check that two runs give the same bits, and that threads of one process
    give them too."""
    first, again = (gradients(pipe, batch) for _ in range(2))
    expected = gradients(threads, batch)
    for name, found in first.items():
        assert torch.equal(found, again[name]), name
        assert torch.equal(found, expected[name]), name


def assert_shards(pipe, state):
    """Check that a rank's part of the state is that of the whole, and that
    either can be loaded."""
    part = pipe.state_dict(gather=False)
    assert {name for name, _ in pipe.named_parameters()} <= set(part)
    assert len(part) < len(state) or pipe.schedule.depth == 2
    changed = {name: value + 1 for name, value in state.items()}
    for loaded in (changed, {name: changed[name] for name in part}):
        for value in part.values():  # views of the weights
            value.zero_()
        pipe.load_state_dict(loaded)
        for name, value in part.items():
            assert torch.equal(value, changed[name]), name


def run(case):
    model, scheme, micros, width, *exact = case.split(":")
    layers, loss_fn, batches, names = make(model)
    plain, plain_names = copy.deepcopy((layers, names))
    expected, norms = models.train_plain(plain, loss_fn, batches, clip=1.0)
    if (scheme == "chimera" and dist.get_world_size() == 2 and dist.get_rank()
            and not exact):
        for layer in layers:  # rank 0 holds all stages, so its weights are used
            for each in layer.parameters():
                each.data.add_(0.1)
    options = {"schedule": scheme, "micros": int(micros), "width": int(width)}
    copied = copy.deepcopy(layers)
    pipe = chimera.torch.Pipeline(layers, loss_fn, **options,
                                  exact=bool(exact))
    if exact:
        threads = chimera.torch.Pipeline(copied, loss_fn, **options,
                                         workers=dist.get_world_size())
        assert_same_bits(pipe, threads, batches[0])
    losses, found_norms = models.train_pipe(pipe, batches, clip=1.0)
    for found, norm in zip(found_norms, norms, strict=True):
        assert abs(found - norm) <= 1e-4 * norm, (found_norms, norms)
    state = pipe.state_dict()
    models.assert_agree(losses, state, expected, plain_names.state_dict())
    assert_shards(pipe, state)
    evaluation = float(pipe.eval_step(*batches[0]))
    assert evaluation == evaluation
    assert len(pipe.trace()) > 0
    if dist.get_rank() == 0:
        print("agrees", case, flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    for case in sys.argv[1:]:
        run(case)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

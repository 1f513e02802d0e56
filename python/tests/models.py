"""Small models for the tests, and training in plain torch to compare with."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Head(nn.Module):
    """A head whose weight may be that of an embedding."""

    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


def tokens_loss(logits, y):
    return nn.functional.cross_entropy(logits.flatten(0, -2), y.flatten())


def language_model(tied=True, frozen=False, blocks=6, seed=1):
    """Embedding, blocks and a head that may share the embedding's weight."""
    torch.manual_seed(seed)
    embed = nn.Embedding(32, 16)
    layers = [embed, *(Block() for _ in range(blocks))]
    head = Head(embed.weight) if tied else nn.Linear(16, 32, bias=False)
    if frozen:
        for layer in layers[:2]:
            layer.requires_grad_(False)
    return [*layers, head]


def token_batches(count, samples=8, length=5, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return [tuple(torch.randint(0, 32, (samples, length), generator=generator)
                  for _ in "xy") for _ in range(count)]


class Fork(nn.Module):
    """Takes one image; returns two of different shapes, and a mask."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Conv2d(3, 4, 3, padding=1)
        self.small = nn.Conv2d(3, 6, 2, stride=2)

    def forward(self, image):
        return self.wide(image), self.small(image), image[:, 0].sum(-1) > 0


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Conv2d(4, 6, 2, stride=2)

    def forward(self, wide, small, mask):
        return torch.relu(self.wide(wide)) + small, mask


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 5)

    def forward(self, image, mask):
        weight = mask.float().mean(1).view(-1, 1)
        return self.out(image.mean((2, 3))) * (1 + weight)


def convolutions(seed=3):
    torch.manual_seed(seed)
    return [nn.Conv2d(3, 3, 1), Fork(), Middle(), Pool(), nn.Tanh(),
            nn.Linear(5, 7), nn.Linear(7, 6), nn.Linear(6, 5)]


def image_batches(count, samples=8, seed=4):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randn(samples, 3, 8, 8, generator=generator),
             torch.randn(samples, 5, generator=generator))
            for _ in range(count)]


def optimizer_for(parameters):
    """AdamW in float64, SGD in float32. In float32 AdamW turns the rounding
    errors of a gradient that is mathematically zero (the bias of a key) into
    steps of full size, in plain torch as well."""
    parameters = list(parameters)
    if parameters[0].dtype == torch.float64:
        return torch.optim.AdamW(parameters, lr=1e-2)
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def train_plain(layers, loss_fn, batches, clip=None):
    """Train `layers` with plain torch in one process; returns losses and norms.
    """
    modules = nn.ModuleList(layers)
    optimizer = optimizer_for(modules.parameters())
    losses, norms = [], []
    for x, y in batches:
        outputs = x if isinstance(x, tuple) else (x,)
        for layer in layers:
            outputs = layer(*outputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        loss = loss_fn(outputs[0] if len(outputs) == 1 else outputs, y)
        loss.backward()
        if clip:
            norms.append(float(nn.utils.clip_grad_norm_(modules.parameters(),
                                                        clip)))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses, norms


def train_pipe(pipe, batches, clip=None):
    optimizer = optimizer_for(pipe.parameters())
    losses, norms = [], []
    for x, y in batches:
        losses.append(float(pipe.step(x, y)))
        if clip:
            norms.append(float(pipe.clip_grad_norm_(clip)))
        optimizer.step()
        optimizer.zero_grad()
    return losses, norms


def assert_agree(losses, state, plain_losses, plain_state):
    """Check losses within 1e-5 and every weight within 1e-5 of its norm; within
    1e-8 in float64."""
    for found, expected in zip(losses, plain_losses, strict=True):
        assert abs(found - expected) <= 1e-5, (losses, plain_losses)
    assert list(state) == list(plain_state)
    for name, expected in plain_state.items():
        found = state[name]
        if not expected.is_floating_point():
            assert torch.equal(found, expected), name
            continue
        error = float((found - expected).norm() / expected.norm().clamp(1e-3))
        bar = 1e-8 if expected.dtype == torch.float64 else 1e-5
        assert error <= bar, (name, error)

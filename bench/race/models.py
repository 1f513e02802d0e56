"""The peers' models: GPT-2 and BERT in plain torch, as lists of layers.

Parameters have the names of Hugging Face's GPT2LMHeadModel and
BertForPreTraining, so that all contestants start from one file. Linear weights
are torch's (out, in); GPT-2's files hold (in, out) and are turned on loading.
Fused attention and fused losses are used wherever torch has them.
"""
import dataclasses

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Shape:
    kind: str = "gpt2"
    layers: int = 8
    hidden: int = 512
    heads: int = 8
    vocab: int = 4096
    seq: int = 128


def attend(q, k, v, heads, causal):
    """Attention of (B, T, C) tensors; heads are views, then joined again."""
    batch, seq, width = q.shape
    q, k, v = (x.view(batch, seq, heads, width // heads).transpose(1, 2)
               for x in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return mixed.transpose(1, 2).reshape(batch, seq, width)


class Gpt2Embeddings(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.wte = nn.Embedding(shape.vocab, shape.hidden)
        self.wpe = nn.Embedding(shape.seq, shape.hidden)

    def forward(self, tokens):
        return self.wte(tokens) + self.wpe.weight[:tokens.shape[1]]


class Gpt2Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width = shape.hidden
        self.heads = shape.heads
        self.ln_1 = nn.LayerNorm(width, eps=1e-5)
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width, eps=1e-5)
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_out = nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.c_attn(self.ln_1(x)).chunk(3, -1)
        x = x + self.c_proj(attend(q, k, v, self.heads, causal=True))
        wide = F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.c_out(wide)


class Gpt2Head(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.ln_f = nn.LayerNorm(shape.hidden, eps=1e-5)
        self.lm_head = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(self, x):
        return self.lm_head(self.ln_f(x))


class BertEmbeddings(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.words = nn.Embedding(shape.vocab, shape.hidden, padding_idx=0)
        self.positions = nn.Embedding(shape.seq, shape.hidden)
        self.types = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=1e-12)

    def forward(self, tokens):
        words, types = tokens.unbind(1)  # (B, T) each
        return self.norm(self.words(words) + self.types(types)
                         + self.positions.weight[:words.shape[1]])


class BertBlock(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width = shape.hidden
        self.heads = shape.heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm_1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm_2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        mixed = attend(self.query(x), self.key(x), self.value(x), self.heads,
                       causal=False)
        x = self.norm_1(x + self.out(mixed))
        return self.norm_2(x + self.down(F.gelu(self.up(x))))


class BertHead(nn.Module):
    """Computes logits only of masked tokens, as many as there are targets."""

    def __init__(self, shape):
        super().__init__()
        width = shape.hidden
        self.pooler = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.decoder = nn.Linear(width, shape.vocab)
        self.next = nn.Linear(width, 2)

    def forward(self, x, places):
        chosen = x.gather(1, places.unsqueeze(2).expand(-1, -1, x.shape[2]))
        words = self.decoder(self.norm(F.gelu(self.transform(chosen))))
        following = self.next(torch.tanh(self.pooler(x[:, 0])))
        return words, following  # (B, M, V), (B, 2)


class Stage(nn.Module):
    """Consecutive layers; `places` are the masked tokens, for BERT's head."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, places=None):
        for layer in self.layers:
            x = layer(x, places) if isinstance(layer, BertHead) else layer(x)
        return x


def make_layers(shape):
    """Embeddings, blocks, head."""
    if shape.kind == "gpt2":
        parts = Gpt2Embeddings, Gpt2Block, Gpt2Head
    else:
        parts = BertEmbeddings, BertBlock, BertHead
    first, block, last = parts
    return [first(shape), *(block(shape) for _ in range(shape.layers)),
            last(shape)]


def loss_of(shape):
    """The mean loss of a micro-batch, from the last stage's output. It is
    computed in float32, whatever the format of the logits."""
    def gpt2_loss(logits, targets):
        return F.cross_entropy(logits.flatten(0, 1).float(),
                               targets.flatten())

    def bert_loss(output, targets):
        words, following = output
        return (F.cross_entropy(words.flatten(0, 1).float(),
                                targets[:, 1:].flatten())
                + F.cross_entropy(following.float(), targets[:, 0]))

    return gpt2_loss if shape.kind == "gpt2" else bert_loss


def layer_costs(shape):
    """Approximate forward operations of each layer for one token."""
    block = 24 * shape.hidden ** 2 + 4 * shape.seq * shape.hidden
    head = 2 * shape.hidden * shape.vocab
    if shape.kind == "bert":
        head = 0.15 * (head + 2 * shape.hidden ** 2)
    return [0, *[block] * shape.layers, head]

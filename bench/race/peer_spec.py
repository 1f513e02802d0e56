"""The peers, and what one of them is asked to run."""
import dataclasses

from models import Shape


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    schedule: str  # class of torch.distributed.pipelining; "" = DDP
    chunks: int = 1  # stages a rank holds
    shape: str = "loop"  # their path over the ranks
    # How it computes in bf16: "autocast", or "masters" for bf16 modules whose
    # optimizer updates float32 copies. Empty: in float32.
    bf16: str = ""

    def can_run(self, depth, micros):
        if self.schedule == "ScheduleDualPipeV":
            return micros >= 2 * depth
        return micros >= depth


PEERS = [
    Peer("GPipe", "ScheduleGPipe"),
    Peer("1F1B", "Schedule1F1B"),
    Peer("Interleaved1F1B", "ScheduleInterleaved1F1B", 2),
    Peer("InterleavedZeroBubble", "ScheduleInterleavedZeroBubble", 2),
    Peer("ZBVZeroBubble", "ScheduleZBVZeroBubble", 2, "vee"),
    Peer("DualPipeV", "ScheduleDualPipeV", 2, "vee"),
    Peer("DDP", ""),
]
BF16_WAYS = ["autocast", "masters"]


def in_bf16(peer, way):
    return dataclasses.replace(peer, name=f"{peer.name}, {way}", bf16=way)


@dataclasses.dataclass(frozen=True)
class Emulated:
    """Seconds of forward, input and weight gradient of one D-th of the model.
    """
    action_s: float
    # In real blocks weight gradients are the shortest action: attention, norms
    # and activations have none or small ones.
    weight_s: float

    @property
    def times(self):
        """As arguments of chimera.schedule and simulate."""
        return {"forward": self.action_s,
                "backward": self.action_s + self.weight_s,
                "weight_grad": self.weight_s}


@dataclasses.dataclass(frozen=True)
class Task:
    depth: int
    micros: int
    micro_batch: int
    model: Shape | Emulated
    init: str = ""  # Hugging Face directory
    data: str = ""
    lr: float = 3e-4
    precision: str = "float32"  # Chimera's; a peer's is Peer.bf16

    @property
    def batch(self):
        return self.micros * self.micro_batch


def stages_of(peer, rank, depth):
    """The stages of a rank, ascending."""
    if peer.chunks == 1:
        return [rank]
    if peer.shape == "vee":
        return [rank, 2 * depth - 1 - rank]
    return [rank, depth + rank]


def balanced_cut(costs, peer, depth):
    """The first layer of each stage: minimises the heaviest rank, then the
    heaviest stage. `costs` by layer; embeddings and head stay at the ends.
    Tries every cut."""
    stages = peer.chunks * depth
    holders = {stage: rank for rank in range(depth)
               for stage in stages_of(peer, rank, depth)}

    def cuts(first, left):
        if left == 0:
            yield [first]
            return
        for end in range(first + 1, len(costs) - left + 1):
            for rest in cuts(end, left - 1):
                yield [first, *rest]

    def weight(cut):
        ends = [*cut[1:], len(costs)]
        of_stage = [sum(costs[a:b]) for a, b in zip(cut, ends)]
        of_rank = [0] * depth
        for stage, cost in enumerate(of_stage):
            of_rank[holders[stage]] += cost
        return max(of_rank), max(of_stage)

    return min(cuts(0, stages - 1), key=weight)

"""Train any torch model with any synchronous pipeline schedule.

>>> pipe = chimera.torch.Pipeline(layers, loss_fn, schedule="chimera", micros=8)
>>> optimizer = torch.optim.AdamW(pipe.parameters(), lr=3e-4)
>>> loss = pipe.step(x, y)
"""

try:
    import torch as _torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chimera.torch needs torch, which is not installed here. Install both: "
        "pip install torch==2.13.0, then pip install <chimera's folder>"
    ) from error

try:
    from chimera.torch import _runtime
except ImportError as error:
    raise ImportError(
        f"chimera.torch cannot be loaded ({error}). Either chimera was "
        "installed where there was no torch, or for another torch than the "
        f"{_torch.__version__} here. Install it again in this environment: "
        "pip install --force-reinstall --no-deps <chimera's folder>"
    ) from error

if _torch.__version__.split("+")[0] != _runtime.torch_version:
    raise ImportError(
        f"chimera was built for torch {_runtime.torch_version}, but this is "
        f"torch {_torch.__version__}, whose binary interface may differ. "
        "Install chimera again in this environment: "
        "pip install --force-reinstall --no-deps <chimera's folder>")

from chimera.torch._error import PipelineError
from chimera.torch._hf import from_transformers
from chimera.torch._layers import balanced_cut
from chimera.torch._pipeline import Pipeline
from chimera.torch._split import weight_grad_queue

__all__ = ["Pipeline", "PipelineError", "balanced_cut",
           "from_transformers", "weight_grad_queue"]

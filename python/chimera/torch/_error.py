"""The exception of a pipeline that fails while it runs."""


class PipelineError(RuntimeError):
    """A rank died, hung or gave up. The text names the rank, stage, micro-batch
    and action; the pipeline cannot continue."""

"""What goes wrong while a pipeline runs."""


class PipelineError(RuntimeError):
    """A rank died, hung or gave up. The text says which rank, stage,
    micro-batch and action; the pipeline cannot go on."""

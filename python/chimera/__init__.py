"""Make, check, simulate, draw and plan pipeline schedules.

>>> import chimera
>>> schedule = chimera.schedule("chimera", depth=4, micros=8)
>>> schedule.simulate(forward=1, backward=2, p2p=0.1).makespan

``import chimera.torch`` adds the runtime that trains torch modules with them.
"""

from chimera._error import Diagnostic, Error
from chimera._plan import Plan, PlanReport, plan
from chimera._schedule import Schedule, Scheme, schedule, schemes
from chimera._simulation import Simulation, WorkerStats

__version__ = "0.1.0"

__all__ = [
    "Diagnostic",
    "Error",
    "Plan",
    "PlanReport",
    "Schedule",
    "Scheme",
    "Simulation",
    "WorkerStats",
    "plan",
    "schedule",
    "schemes",
]

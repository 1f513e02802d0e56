"""Checks the table that build/race_overhead prints."""
from panel import Bar


def rows(table):
    """(scheme, D, N) -> microseconds per action: of a core, and of CPU time."""
    found = {}
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        scheme, depth, micros, _, core_us, cpu_us = cells[:6]
        found[scheme, int(depth), int(micros)] = float(core_us), float(cpu_us)
    return found


def bars(table):
    costs = rows(table)
    dearest = max(costs, key=costs.get)
    found = [Bar("empty compute: core us for an action, at most ({}, D={}, "
                 "N={})".format(*dearest), costs[dearest][0], most=10)]
    for scheme in sorted({scheme for scheme, _, _ in costs}):
        growth = costs[scheme, 32, 128][1] / costs[scheme, 8, 32][1]
        found.append(Bar(f"empty compute, {scheme}: CPU time for an action of "
                         "D=32, N=128 over that of D=8, N=32", growth,
                         most=1.5))
    return found

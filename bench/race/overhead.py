"""What the table of build/race_overhead must show."""
from panel import Bar


def rows(table):
    """(scheme, D, N) -> microseconds of a core for an action."""
    found = {}
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        scheme, depth, micros, _, core_us = cells[:5]
        found[scheme, int(depth), int(micros)] = float(core_us)
    return found


def bars(table):
    costs = rows(table)
    dearest = max(costs, key=costs.get)
    found = [Bar("empty compute: core us for an action, at most ({}, D={}, "
                 "N={})".format(*dearest), costs[dearest], most=10)]
    for scheme in sorted({scheme for scheme, _, _ in costs}):
        growth = costs[scheme, 32, 128] / costs[scheme, 8, 32]
        found.append(Bar(f"empty compute, {scheme}: an action of D=32, N=128 "
                         "over one of D=8, N=32", growth, most=1.5))
    return found

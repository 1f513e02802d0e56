"""Draws the race: one panel per setting, one bar per contestant, longer is
faster. Bars are tokens or steps per second."""
from xml.sax.saxutils import escape

WIDTH, NAME, BAR, GAP, HEAD = 800, 225, 18, 6, 34
COLOURS = {"limit": "#9aa0a6", "products": "#9aa0a6", "Chimera": "#1a73e8", "C++": "#8ab4f8",
           "torch": "#e8a33d"}


def colour(name):
    return next(colour for start, colour in COLOURS.items()
                if name.startswith(start))


def draw_panel(panel, top):
    """The panel's elements and its height."""
    results = sorted(panel.results, key=lambda r: r.median)
    unit, per_step = (("tokens/s", panel.tokens) if panel.tokens
                      else ("steps/s", 1))
    scale = (WIDTH - NAME - 150) * results[0].median
    parts = [f'<text x="12" y="{top + 20}" font-weight="bold">'
             f"{escape(panel.title)}</text>"]
    y = top + HEAD
    for result in results:
        length = scale / result.median
        digits = 0 if panel.tokens else 2
        label = (f"{per_step / result.median:.{digits}f} {unit}, "
                 f"&#177; {100 * result.spread:.1f} %")
        parts += [
            f'<text x="{NAME - 8}" y="{y + 13}" text-anchor="end">'
            f"{escape(result.name)}</text>",
            f'<rect x="{NAME}" y="{y}" width="{length:.1f}" height="{BAR}" '
            f'rx="2" fill="{colour(result.name)}"/>',
            f'<text x="{NAME + length + 6:.1f}" y="{y + 13}" fill="#5f6368">'
            f"{label}</text>"]
        y += BAR + GAP
    return parts, y - top + 12


def draw(panels):
    parts, top = [], 6
    for panel in panels:
        more, height = draw_panel(panel, top)
        parts += more
        top += height
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{top}" viewBox="0 0 {WIDTH} {top}" font-size="12" '
        'font-family="Helvetica, Arial, sans-serif" fill="#202124">',
        f'<rect width="{WIDTH}" height="{top}" fill="white"/>',
        *parts, "</svg>"]) + "\n"

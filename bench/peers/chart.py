"""A bar chart of the race as SVG: one bar per model and number of threads, as long as Shoal is faster.
Readable on light and dark pages: bars of middling lightness, text in a colour that follows the page."""
import itertools

WIDTH, LEFT, RIGHT, TOP = 720, 190, 50, 46
BAR, GAP = 13, 10
COLOURS = ["#3987c9", "#d9822b", "#4a9d5b"]
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  line { stroke: #24292f; stroke-dasharray: 4 3; opacity: .5 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #e6edf3 } }
"""


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def bar(x, y, width, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'


def legend(colours):
    parts = [text(LEFT, 16, "times as fast as ONNX Runtime")]
    for i, (threads, colour) in enumerate(colours.items()):
        x = LEFT + 240 + 100 * i
        parts += [bar(x, 5, BAR, colour), text(x + 20, 16, f"{threads} thread{'s' if threads > 1 else ''}")]
    return parts


def draw(rows):
    by_model = {}
    for row in rows:
        by_model.setdefault(row["model"], []).append(row)
    scale = (WIDTH - LEFT - RIGHT) / max(1.5, *(row["ratio"] for row in rows))
    colours = dict(zip(sorted({row["threads"] for row in rows}), itertools.cycle(COLOURS)))
    parts, y = legend(colours), TOP
    for model, races in by_model.items():
        parts.append(text(LEFT - 10, y + len(races) * BAR / 2 + 4, model, "end"))
        for row in races:
            length = scale * row["ratio"]
            parts += [bar(LEFT, y, length, colours[row["threads"]]),
                      text(LEFT + length + 6, y + 11, f"{row['ratio']:.2f}")]
            y += BAR + 1
        y += GAP
    x = LEFT + scale
    parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{y}"/>',
              text(x, TOP - 12, "1", "middle")]
    body = "\n  ".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 6}" role="img" '
            f'aria-label="How many times as fast as ONNX Runtime">\n<style>{STYLE}</style>\n  {body}\n</svg>\n')

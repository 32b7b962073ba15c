"""The race in words: lines for a terminal, and the data file behind docs/measurements/engine.md."""
import json
import subprocess

import chart
import machine
import models
from engines import ROOT

COLUMNS = ["model", "threads", "Shoal ms", "ORT ms", "ratio", "noise", "goal", "Shoal MB", "ORT MB",
           "Shoal peak", "ORT peak"]
WIDTHS = [24, 7, 9, 9, 6, 6, 5, 9, 7, 11, 9]
FILE = ROOT / "docs/measurements/data/race.json"


def cells(row):
    # The int8 models do other work than the fp32 peak measures.
    share = lambda key: "–" if row["model"] in models.INT8 else f"{100 * row[key]:.0f} %"
    return [row["model"], str(row["threads"]), f"{row['shoal_ms']:.3f}", f"{row['ort_ms']:.3f}",
            f"{row['ratio']:.2f}", f"{100 * row['noise']:.1f} %", f"{row['goal']:.2f}", f"{row['shoal_mb']:.0f}",
            f"{row['ort_mb']:.0f}", share("shoal_share"), share("ort_share")]


def kept_ratios():
    """By model and threads, the ratio that the kept data has, and its noise."""
    data = json.loads(FILE.read_text())
    names = [column["name"] for column in data["columns"]]
    rows = (dict(zip(names, row)) for row in data["rows"])
    return {(row["model"], row["threads"]): (float(row["ratio"]), float(row.get("noise", "0").strip(" %")) / 100)
            for row in rows}


def regressions(rows):
    """One line for each ratio that is more than 5 %, and more than the noise of both, below the kept one."""
    kept = kept_ratios()
    for row in rows:
        before, noise = kept.get((row["model"], str(row["threads"])), (0, 0))
        if row["ratio"] < before * (1 - 0.05 - noise - row["noise"]):
            yield (f"slower than kept: {row['model']} on {row['threads']} thread(s), "
                   f"{row['ratio']:.2f} after {before:.2f}")


def columns(texts):
    first, *rest = (text.rjust(width) for text, width in zip(texts, WIDTHS))
    return " ".join([first.strip().ljust(WIDTHS[0]), *rest])


def heading():
    return columns(COLUMNS)


def line(row):
    return columns(cells(row))


def growth_words(result):
    return (f"Cost growth, ResNet-18 on {result['threads']} thread(s), picoseconds per MAC: "
            + ", ".join(f"{shape} {cost}" for shape, cost in result["ps_per_mac"].items())
            + f". Worst to best {result['worst_to_best']} (goal: at most 1.25).")


def start_words(result):
    return (f"VGG-16 from a file of {result['file_mb']:.0f} MB to the first answer, {result['threads']} "
            f"threads, medians of {result['rounds']}: Shoal {result['first_ms']:.0f} ms, the second time "
            f"{result['second_ms']:.0f} ms ({result['second_to_first']} of the first), with packed weights kept "
            f"{result['packed_ms']:.0f} ms, ONNX Runtime "
            f"{result['ort_ms']:.0f} ms. Peak RSS {result['shoal_mb']:.0f} MB ({result['shoal_to_file']} of "
            f"the file) against {result['ort_mb']:.0f} MB.")


def gemm_words(result):
    return (f"Matrix product of 1024³, one thread: {result['gflops']} GFLOP/s, {100 * result['share']:.0f} % "
            "of the peak (goal: 80 %).")


WORDS = {"growth": growth_words, "start": start_words, "gemm": gemm_words}


def notes(results, mean):
    rows = [result for result in results if result["bench"] == "race"]
    peaks = ", ".join(
        f"{max(r['peak_gflops'] for r in rows if r['threads'] == n):.0f} GFLOP/s on {n}"
        for n in sorted({row["threads"] for row in rows}))
    return [
        f"Against ONNX Runtime {machine.ort_version()} (npm `onnxruntime-node`), on {machine.describe()}.",
        "Both engines stay open and run in turns. Times are medians. Ratio = ORT / Shoal, the median over the "
        "turns: above 1, Shoal is faster. Noise is the standard error of that median.",
        "Memory is the peak RSS of the whole process; that of ONNX Runtime includes about 45 MB of Node.",
        f"Peak is the share of the fp32 peak, measured between the turns: {peaks} thread(s). Winograd needs "
        "fewer operations than the definition, so more than 100 % is possible.",
        f"Geometric mean of the fp32 ratios: {mean:.2f} (goal: 1.6).",
        *(WORDS[result["bench"]](result) for result in results if result["bench"] in WORDS),
    ]


def write(results, mean):
    rows = [result for result in results if result["bench"] == "race"]
    data = {
        "page": "engine", "order": 1, "picture": "race.svg",
        "title": "The race against ONNX Runtime",
        "command": [results[0]["command"]], "commit": results[0]["commit"],
        "columns": [{"name": name, "align": "left" if name == "model" else "right"} for name in COLUMNS],
        "rows": [cells(row) for row in rows],
        "notes": notes(results, mean),
    }
    pages = ROOT / "docs/measurements"
    FILE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    (pages / "race.svg").write_text(chart.draw(rows))
    subprocess.run([ROOT / "tools/measurements.py"], check=True)

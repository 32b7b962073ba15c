"""The race in words: lines for a terminal, and the data file behind docs/measurements/engine.md."""
import json
import subprocess

import chart
import machine
import models
from engines import ROOT

COLUMNS = ["model", "threads", "Shoal ms", "ORT ms", "ratio", "noise", "goal", "Shoal MB", "ORT MB",
           "Shoal peak", "ORT peak"]
PAGE_COLUMNS = ["model", "ms, 1 thread", "ratio", "ms, 2 threads", "ratio", "MB", "ORT MB"]
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
    data = json.loads(FILE.read_text())["cases"]
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


def growth_line(result):
    return [f"ResNet-18, {len(result['ps_per_mac'])} shapes, {result['threads']} thread(s): worst to best cost per MAC "
            "(goal 1.25)", str(result["worst_to_best"])]


def start_line(result):
    return ["VGG-16 from its file to the first answer; again; packed weights kept; ONNX Runtime",
            f"{result['first_ms']:.0f}; {result['second_ms']:.0f}; {result['packed_ms']:.0f}; {result['ort_ms']:.0f} ms"]


def gemm_line(result):
    return ["matrix product of 1024³, one thread (goal: 80 % of the peak)",
            f"{result['gflops']} GFLOP/s, {100 * result['share']:.0f} %"]


LINES = {"growth": growth_line, "start": start_line, "gemm": gemm_line}


def also(results, mean):
    """What the table of models does not have, a name and a value each."""
    return [["geometric mean of the fp32 ratios (goal 1.6)", f"{mean:.2f}"],
            *(LINES[result["bench"]](result) for result in results if result["bench"] in LINES)]


def growth_words(result):
    return (f"Cost growth, ResNet-18 on {result['threads']} thread(s), picoseconds per MAC: "
            + ", ".join(f"{shape} {cost}" for shape, cost in result["ps_per_mac"].items()) + ".")


def start_words(result):
    return (f"VGG-16 from a file of {result['file_mb']:.0f} MB, {result['threads']} threads, medians of "
            f"{result['rounds']}: peak RSS {result['shoal_mb']:.0f} MB ({result['shoal_to_file']} of the file) "
            f"against {result['ort_mb']:.0f} MB of ONNX Runtime.")


WORDS = {"growth": growth_words, "start": start_words}


def remark():
    return (f"Against ONNX Runtime {machine.ort_version()} (npm `onnxruntime-node`), both engines open and in turns; "
            "ratio = ORT / Shoal, medians: above 1, Shoal is faster. Goals are 1.15 to 1.70. MB: the peak of the "
            "process on 2 threads; ORT's has about 45 MB of Node.")


def notes(results):
    rows = [result for result in results if result["bench"] == "race"]
    peaks = ", ".join(
        f"{max(r['peak_gflops'] for r in rows if r['threads'] == n):.0f} GFLOP/s on {n}"
        for n in sorted({row["threads"] for row in rows}))
    return [
        f"On {machine.describe()}. Noise is the standard error of the median.",
        f"Peak is the share of the fp32 peak, measured between the turns: {peaks} thread(s). Winograd needs "
        "fewer operations than the definition, so more than 100 % is possible.",
        *(WORDS[result["bench"]](result) for result in results if result["bench"] in WORDS),
    ]


def model_line(rows):
    """The cells of one model from its rows on one and two threads."""
    times = []
    for row in rows:
        short = " (short)" if round(row["ratio"], 2) < row["goal"] else ""
        times += [f"{row['shoal_ms']:.3f}", f"{row['ratio']:.2f}{short}"]
    return [rows[0]["model"], *times, f"{rows[-1]['shoal_mb']:.0f}", f"{rows[-1]['ort_mb']:.0f}"]


def headed(names):
    return [{"name": name, "align": "left" if name == "model" else "right"} for name in names]


def write(results, mean):
    rows = [result for result in results if result["bench"] == "race"]
    models_raced = list(dict.fromkeys(row["model"] for row in rows))
    data = {
        "page": "engine", "order": 1, "picture": "race.svg",
        "title": "The race against ONNX Runtime",
        "remark": remark(),
        "command": [results[0]["command"]], "commit": results[0]["commit"],
        "columns": headed(PAGE_COLUMNS),
        "rows": [model_line(sorted((row for row in rows if row["model"] == name), key=lambda row: row["threads"]))
                 for name in models_raced],
        "also": also(results, mean),
        "cases": {"title": "each model on one and two threads", "columns": headed(COLUMNS),
                  "rows": [cells(row) for row in rows]},
        "notes": notes(results),
    }
    pages = ROOT / "docs/measurements"
    FILE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    (pages / "race.svg").write_text(chart.draw(rows))
    subprocess.run([ROOT / "tools/measurements.py"], check=True)

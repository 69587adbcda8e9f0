"""What a run says: one line while it goes on, a Markdown table, a plot (SVG)."""
import math, pathlib, statistics

import pyarrow as pa

import dataset


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def touched(suite, question):
    """Bytes of the columns that have to be read."""
    total = 0
    for table, columns in question.touched.items():
        loaded = dataset.read(suite.tables[table])
        total += sum(loaded.column(c).nbytes for c in columns)
    return total


def input_rows(suite, question):
    return sum(dataset.read(suite.tables[table]).num_rows for table in question.touched)


def median(result, engine):
    return statistics.median(result["engines"][engine]["seconds"])


def spread(result, engine):
    seconds = result["engines"][engine]["seconds"]
    return (max(seconds) - min(seconds)) / statistics.median(seconds)


def peers(result):
    return [e for e in result["engines"] if e != "morseld"]


def best_peer(result):
    return min(peers(result), key=lambda e: median(result, e), default=None)


def ratio(result):
    """Our time over the best peer's: below 1 we are faster."""
    best = best_peer(result)
    return median(result, "morseld") / median(result, best) if best and "morseld" in result["engines"] else None


def line(result):
    told = "  ".join(f"{e} {median(result, e):.4f}" for e in result["engines"])
    wrong = "".join(f"  {e}: {text[:120]}" for e, text in result["errors"].items())
    return f"{result['question']}: {told}" + (f"  ours/best {ratio(result):.2f}" if ratio(result) else "") + wrong


def table(done):
    engines = list(done["loads"])
    limits = done["machine"]["limits"]
    stream = limits["stream_gbs"][str(done["threads"])] if str(done["threads"]) in limits["stream_gbs"] else max(limits["stream_gbs"].values())
    out = [f"## {done['title']}", "",
           f"{done['threads']} threads, median of {done['repetitions']} interleaved runs, seconds; {done['machine']['processor']}, {done['machine']['at']}. "
           f"This machine, measured first: stream {stream:.1f} GB/s, random lines {max(limits['random_mlines'].values()):.0f} M/s.", "",
           "| question | " + " | ".join(engines) + " | best peer | ours / best | our spread | M rows/s | GB/s (share of stream) | our peak MiB / least peer's |",
           "|---|" + "---:|" * len(engines) + "---|---:|---:|---:|---:|---:|"]
    ratios = []
    for result in done["results"]:
        cells = [f"{median(result, e):.4f}" if e in result["engines"] else "error" if e in result["errors"] else "" for e in engines]
        best, ours = best_peer(result), ratio(result)
        if ours:
            ratios.append(ours)
            seconds = median(result, "morseld")
            rate = result["touched_bytes"] / seconds / 1e9
            peaks = [result["engines"][e]["peak"] for e in peers(result)]
            cells += [best, f"{'**' if ours <= 1 else ''}{ours:.2f}{'**' if ours <= 1 else ''}", f"{spread(result, 'morseld'):.0%}",
                      f"{result['input_rows'] / seconds / 1e6:.0f}" if result["input_rows"] else "",
                      f"{rate:.1f} ({rate / stream:.0%})" if result["touched_bytes"] else "",
                      f"{result['engines']['morseld']['peak'] >> 20} / {min(peaks) >> 20}"]
        else:
            cells += [best or "", "", "", "", "", ""]
        out.append(f"| {result['question']} {result['title']} | " + " | ".join(cells) + " |")
    out.append("")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lost = sum(r > 1 for r in ratios)
        out.append(f"Geometric mean of ours / best peer's per question: **{mean:.2f}** over {len(ratios)} questions; slower than the best peer on {lost}.")
    out += ["", "Load (seconds, resident MiB after it): " + "; ".join(f"{e} {l['version']}: {l['seconds']:.1f}, {l['resident'] >> 20}" for e, l in done["loads"].items()) + ".", ""]
    for result in done["results"]:
        for engine, text in result["errors"].items():
            out.append(f"- {result['question']}, {engine}: {text}")
    return "\n".join(out) + "\n"


COLOURS = ["#1b6ca8", "#e07a1f", "#f2b880", "#3f8f5b", "#9ccfae", "#8a5fb0", "#c9b3dd", "#7a7a7a"]


def plot(done):
    """Horizontal bars: each engine's median over the best peer's."""
    engines = list(done["loads"])
    shown = [r for r in done["results"] if best_peer(r)]
    bar, gap, left, width = 9, 10, 230, 520
    height = sum(bar * len(engines) + gap for _ in shown) + 60
    top = 4.0
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" font-family="sans-serif" font-size="10">',
           f'<text x="8" y="16" font-size="12">{done["title"]}: time over the best peer\'s (1 = line; cut at {top:.0f})</text>']
    y = 40
    for index, engine in enumerate(engines):
        out.append(f'<rect x="{8 + index * 88}" y="22" width="9" height="9" fill="{COLOURS[index % 8]}"/><text x="{20 + index * 88}" y="30">{engine}</text>')
    for result in shown:
        reference = median(result, best_peer(result))
        out.append(f'<text x="{left - 6}" y="{y + bar * len(engines) / 2 + 3}" text-anchor="end">{result["question"]} {result["title"]}</text>'.replace("&", "&amp;"))
        for index, engine in enumerate(engines):
            if engine in result["engines"]:
                times = median(result, engine) / reference
                out.append(f'<rect x="{left}" y="{y}" width="{min(times, top) / top * width:.1f}" height="{bar - 1}" fill="{COLOURS[index % 8]}"/>')
                out.append(f'<text x="{left + min(times, top) / top * width + 3:.1f}" y="{y + bar - 2}" font-size="8">{times:.2f}</text>')
            y += bar
        y += gap
    out.append(f'<line x1="{left + width / top}" y1="36" x2="{left + width / top}" y2="{height - 16}" stroke="#444" stroke-dasharray="3,3"/></svg>')
    return "\n".join(out) + "\n"

"""Compares our detector of changes with Apache Otava on the same series, and prints the table of compare/tables/track.md.

Runs `compare`'s `track`, which writes simulated series with our alarms. Otava (`pip install apache-otava==0.8.0`) gets each
series as a user's CI would give it: all values so far, after every value, with its own defaults. A change point that is
more than NEAR values from all that it reported before is an alarm. Arguments are public series: files `data.js` of
github-action-benchmark, such as https://raw.githubusercontent.com/hyperium/hyper/gh-pages/dev/bench/data.js; the newest LAST
values of the longest series of each are taken, twenty series in all.
"""
import json
import multiprocessing
import os
import statistics
import subprocess
import sys

from otava.analysis import compute_change_points

NEAR = 5
PUBLIC = 20
LAST = 200
COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def public(path, count):
    """The longest series of a file, as lines for the program; the last part of the name says which project."""
    text = open(path).read()
    data = json.loads(text[text.index("=") + 1 :].strip().rstrip(";"))
    project = data["repoUrl"].rsplit("/", 1)[-1]
    series = {}
    for entries in data["entries"].values():
        for entry in entries:
            for bench in entry["benches"]:
                series.setdefault((bench["name"], bench["unit"]), []).append(float(bench["value"]))
    longest = sorted(series.items(), key=lambda item: (-len(item[1]), item[0]))[:count]
    return [f"{project}: {name}\t" + "\t".join(map(repr, values[-LAST:])) for (name, _), values in longest]


def otava(values):
    """Alarms as (since, at), and the change points of the whole series."""
    known, alarms, points = [], [], []
    for seen in range(2, len(values) + 1):
        found, _ = compute_change_points(values[:seen])
        points = [int(point.index) for point in found]
        for index in points:
            if all(abs(index - other) > NEAR for other in known):
                known.append(index)
                alarms.append((index, seen - 1))
    return alarms, points


def read(line):
    kind, before, alarms, *values = line.rstrip("\n").split("\t")
    pairs = [] if alarms == "-" else [tuple(map(int, pair.split(":"))) for pair in alarms.split(",")]
    values = [float(value) for value in values]
    return kind, None if before == "-" else int(before), len(values), pairs, *otava(values)


def share(count, of):
    return f"{100 * count / of:.0f} %"


def steady(kind, rows):
    values = sum(row[2] for row in rows)
    cells = []
    for alarms in ([row[3] for row in rows], [row[4] for row in rows]):
        any_alarm = sum(bool(each) for each in alarms)
        per_value = 1000 * sum(map(len, alarms)) / values
        cells += [share(any_alarm, len(rows)), f"{per_value:.2f}"]
    return f"| {kind} | {len(rows)} × {rows[0][2]} | " + " | ".join(cells) + " |"


def changed(kind, rows):
    before, cells = rows[0][1], []
    for which in (3, 4):
        early = sum(any(at < before for _, at in row[which]) for row in rows)
        first = [min((at for since, at in row[which] if at >= before and since >= before - 2 * NEAR), default=None) for row in rows]
        delays = sorted(float("inf") if at is None else at - before + 1 for at in first)
        noticed = sum(delay < float("inf") for delay in delays)
        median = statistics.median(delays)
        median = f"{median:.0f}" if median < float("inf") else "–"
        cells += [share(early, len(rows)), share(noticed, len(rows)), median]
    return f"| {kind} | " + " | ".join(cells) + " |"


def near(since, points):
    return any(abs(since - point) <= 2 * NEAR for point in points)


def real(kind, row):
    _, _, length, ours, alarms, points = row
    agreed = sum(near(since, points) for since, _ in ours)
    return f"| {kind} | {length} | {len(ours)} | {agreed} | {len(alarms)} | {len(points)} |"


def main():
    files = sys.argv[1:]
    each = -(-PUBLIC // len(files)) if files else 0
    given = [line for path in files for line in public(path, each)][:PUBLIC]
    program = ["cargo", "run", "-q", "--release", "--manifest-path", os.path.join(COMPARE, "Cargo.toml"), "--", "track"]
    lines = subprocess.run(program, input="".join(line + "\n" for line in given), text=True, capture_output=True, check=True)
    with multiprocessing.Pool() as pool:
        rows = pool.map(read, lines.stdout.splitlines(), chunksize=4)
    simulated, last = rows[: len(rows) - len(given)], rows[len(rows) - len(given) :]
    kinds = list(dict.fromkeys(row[0] for row in simulated))
    groups = [(kind, [row for row in simulated if row[0] == kind]) for kind in kinds]
    print(f"{len(simulated)} simulated series; ours at an error of 0.1 % per value, Otava 0.8.0 with its defaults (p-value at most 0.001).\n")
    print("Series that do not change: share of series with any alarm, and alarms per 1,000 values (ours promises at most 1.00 where values are independent).\n")
    print("| series | values | ours: any | per 1,000 | Otava: any | per 1,000 |\n|:--|--:|--:|--:|--:|--:|")
    print("\n".join(steady(kind, rows) for kind, rows in groups if rows[0][1] is None))
    print("\nSeries that change after 50 of 100 values: share with an alarm before that; share in which it was noticed; median number of values until then.\n")
    print("| series | ours: before | noticed | values | Otava: before | noticed | values |\n|:--|--:|--:|--:|--:|--:|--:|")
    print("\n".join(changed(kind, rows) for kind, rows in groups if rows[0][1] is not None))
    if last:
        print("\nPublic series, whose true changes are not known: alarms, ours that are near a change point which Otava finds in the whole series, and how many it finds.\n")
        print("| series | values | ours | … near Otava's | Otava: alarms | … in the whole series |\n|:--|--:|--:|--:|--:|--:|")
        print("\n".join(real(row[0], row) for row in last))


if __name__ == "__main__":
    main()

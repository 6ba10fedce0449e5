"""The exam's command line: run.sh says how it is used."""
import argparse
import importlib
import os
import sys
import time

from exam import Exam
from program import Failed, Program
from results import Results

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(SOURCE, "configs", "machines", "build"))  # how machine files are made: of parts of the data, too
EXPECTED = os.path.join(os.path.dirname(HERE), "expected.csv")
DATASETS = ("torch_cpu", "timm", "justus2018", "neusight2025", "deepbench", "paleo2017", "allreduce", "scaling", "jobs", "whole_steps", "epochs", "watch", "energy", "shipped", "layouts", "layout_memory", "published_layouts", "torch_mixed",
            "nicolai2025", "zeus2023", "mlperf_power", "simumax2026", "hurlee2024", "profet2022", "blocks")
QUICK = ("torch_cpu", "timm", "justus2018", "deepbench", "allreduce", "scaling")  # parts of these guard against regressions


def arguments():
    p = argparse.ArgumentParser(prog="run.sh", description="How far predictions are off, beside baselines and targets")
    p.add_argument("dataset", nargs="*", help=f"of {' '.join(DATASETS)} (default: all)")
    p.add_argument("--csv", metavar="FILE", help="write every figure there")
    p.add_argument("--quick", action="store_true", help="a part, compared with expected.csv")
    p.add_argument("--update", action="store_true", help="with --quick: write expected.csv")
    p.add_argument("--every", action="store_true", help="print single networks and settings too")
    p.add_argument("--strict", action="store_true", help="exit status 1 where a target is missed")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="other parts at random, to see what is luck [0]")
    p.add_argument("--keep", metavar="FOLDER", help="leave observations and machine files there")
    o = p.parse_args()
    unknown = set(o.dataset) - set(DATASETS)
    if unknown:
        p.error(f"no data set {', '.join(sorted(unknown))}: there are {', '.join(DATASETS)}")
    if o.seed and o.quick:
        p.error("--quick compares with what seed 0 gives")
    if o.update and (not o.quick or o.dataset):
        p.error("--update goes with --quick, and all data sets")
    return o


def folder(variable, default=None):
    path = os.environ.get(variable) or default
    if path and os.environ.get(variable) and not os.path.isdir(path):
        raise Failed(f"{variable}={path}: no such folder")
    return path


def examine(o, results):
    """What the program doubted without reason, and data sets that could not be examined, each in a line."""
    program = Program(SOURCE, os.environ)
    exam = Exam(program, results, SOURCE,
                folder("LAYERMETER_DATA", os.path.join(SOURCE, "..", "shared", "data")), folder("LAYERMETER_HELDOUT"),
                o.quick, o.keep, o.seed)
    try:
        for name in o.dataset or (QUICK if o.quick else DATASETS):
            began = time.monotonic()
            exam.attempt(name, importlib.import_module(name).run, exam)
            exam.coverage_of_groups()
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    finally:
        exam.close()
    return sorted(program.doubts), exam.failures


def expected(o, results):
    """Compared with what is expected; the exit status."""
    if o.update:
        results.write_expected(EXPECTED)
        return 0
    worse, agree, new = results.compare(EXPECTED)
    print(f"{agree} figures as expected, at most a tenth worse; {len(worse)} not; {new} new ones (--update keeps them)")
    for line in worse:
        print(f"worse: {line}")
    return 1 if worse else 0


def main():
    o = arguments()
    results = Results()
    try:
        doubts, failures = examine(o, results)
        for line in failures:
            print(f"run.sh: {line}", file=sys.stderr)
        if not results.rows and failures:
            return 1
        if not results.rows:
            print("skipped: no data (set LAYERMETER_DATA)")
            return 77
        results.unanswered()
        print()
        for line in results.table(o.every):
            print(line)
        met, n = results.targets()
        print(f"\n{met} of {n} targets met")
        for line in doubts:
            print(f"doubted without reason: {line}")
        if o.csv:
            results.write(o.csv)
        status = expected(o, results) if o.quick and not os.environ.get("LAYERMETER_HELDOUT") else 0
    except Failed as e:
        print(f"run.sh: {e}", file=sys.stderr)
        return 1
    return 1 if doubts or failures or (o.strict and met < n) else status


sys.exit(main())

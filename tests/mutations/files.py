#!/usr/bin/env python3
"""Files in which one byte is another, is missing or is there twice: machine, plan, learned and observation files.

  tests/mutations/files.py PROGRAMS INPUTS [MUTATIONS [SEED]]

PROGRAMS is the folder of `layermeter`, INPUTS is tests/cli/inputs. Of each mutated file a command that reads it is asked again. It is refused
(exit status 1, one line), answers the same, says something more on stderr, or answers otherwise without a word: that must not happen to a
file with a checksum. Observations have none, since anyone may write them: what becomes of them is counted. Exit status 1: a file with a
checksum changed an answer, or a command crashed, hung or refused in more than a line."""
import collections
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile

RUNS = """import math
print("workload,group,gpu,seconds,busy_percent,power_mean_w,same_w")
for i in range(40):
    t, s = 1 + i % 8, (i * 37 % 40) / 40
    for n, f, b, w in (("Slow", 10, 500, 100), ("Fast", 20, 500, 200), ("Vast", 80, 1000, 400)):
        x, y = t * s * 10 / f, t * (1 - s) * 500 / b
        print(f"w{i},net{i % 5},{n},{x + y:.6g},{100 * x / (x + y):.4g},{w * (0.5 + 0.5 * x / (x + y)):.5g},5")
"""
BOARDS = "".join(f"[{n}]\nf32 = {f} TFLOP/s\nbandwidth = {b} GB/s\npower = {w} W\n"
                 for n, f, b, w in (("Slow", 10, 500, 100), ("Fast", 20, 500, 200), ("Vast", 80, 1000, 400), ("Wide", 40, 2000, 300)))
JOB = "workload,group,gpu,seconds,busy_percent,power_mean_w,same_w\njob,net1,Fast,3,50,150,5\n"

Kind = collections.namedtuple("Kind", "name file has_checksum command")
KINDS = [
    Kind("machine", "m.ini", True, ["predict", "tiny.ini", "--machine", "FILE", "--batch", "8", "--nodes", "1", "--devices-per-node", "2",
                                    "--explain"]),
    Kind("plan", "plan.json", True, ["watch", "--plan", "FILE", "--trace", "smi.csv", "--format", "csv"]),
    Kind("learned", "gpus.txt", True, ["transfer", "job.csv", "--learned", "FILE", "--from", "Fast", "--to", "Vast", "--devices", "boards.ini"]),
    Kind("observations", "o.csv", False, ["export", "FILE", "--kind", "network", "--format", "extra-p-jsonl"]),
]


def ask(program, command, file):
    try:
        done = subprocess.run([program] + [file if word == "FILE" else word for word in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return None, b"", b"hangs"
    return done.returncode, done.stdout.replace(file.encode(), b"FILE"), done.stderr.replace(file.encode(), b"FILE")


def mutated(data, rng):
    at, how = rng.randrange(len(data)), rng.randrange(3)
    if how == 0:
        return f"byte {at} flipped", data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1:]
    if how == 1:
        return f"byte {at} deleted", data[:at] + data[at + 1:]
    return f"byte {at} doubled", data[:at] + data[at:at + 1] + data[at:]


def judge(before, after):
    code, out, err = after
    if code == 1:
        return "refused" if err.count(b"\n") == 1 and not out else "refused badly"
    if code != 0:
        return "crashed or hung"
    if out == before[1]:
        return "same"
    return "said" if err != before[2] else "silent"


def prepare(program, inputs):
    def run(*words, out=None):
        done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr.decode()}")
        if out:
            with open(out, "wb") as file:
                file.write(done.stdout)

    for name in os.listdir(inputs):
        if os.path.isfile(os.path.join(inputs, name)):
            shutil.copy(os.path.join(inputs, name), name)
    with open("runs.csv", "wb") as file:
        file.write(subprocess.run([sys.executable, "-c", RUNS], stdout=subprocess.PIPE, check=True).stdout)
    for name, text in (("boards.ini", BOARDS), ("job.csv", JOB)):
        with open(name, "w") as file:
            file.write(text)
    with open("smi.csv", "w") as file:
        file.write("timestamp,index,utilization.gpu [%],power.draw [W],clocks.current.sm [MHz],clocks_event_reasons.active\n")
        for i in range(2000):
            busy = (i / 250 if i < 250 else (i - 250) % 160 / 160) < 0.95
            file.write(f"{1.7e9 + i / 10:.1f},0,{94 + i * 7919 % 5 if busy else 10},{300 if busy else 90},1410,0x0000000000000000\n")
    run("fit", "observations.csv", "-o", "m.ini")
    run("plan", "tiny.ini", "--machine", "m.ini", "--nodes", "1", "--devices-per-node", "2", "--format", "json", out="plan.json")
    run("learn", "runs.csv", "--devices", "boards.ini", "--method", "pair-ratio", "-o", "gpus.txt")
    shutil.copy("observations.csv", "o.csv")


def main():
    program, inputs = os.path.join(os.path.abspath(sys.argv[1]), "layermeter"), os.path.abspath(sys.argv[2])
    count, rng = int(sys.argv[3]) if len(sys.argv) > 3 else 5000, random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        prepare(program, inputs)
        print(f"{'file':<14}{'mutations':>10}{'refused':>10}{'same':>8}{'said':>8}{'silent':>8}{'bad':>6}")
        for kind in KINDS:
            with open(kind.file, "rb") as file:
                data = file.read()
            before = ask(program, kind.command, kind.file)
            if before[0]:
                sys.exit(f"{kind.name}: as it is: {before[2].decode()}")
            suffix = os.path.splitext(kind.file)[1]

            def one(job):
                number, (how, text) = job
                path = f"mutated{number}{suffix}"
                with open(path, "wb") as file:
                    file.write(text)
                result = judge(before, ask(program, kind.command, path))
                os.remove(path)
                return result, how

            jobs = list(enumerate(mutated(data, rng) for _ in range(count // len(KINDS))))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                results = list(pool.map(one, jobs))
            n = collections.Counter(r for r, _ in results)
            wrong = [(r, how) for r, how in results if r in ("refused badly", "crashed or hung") or (r == "silent" and kind.has_checksum)]
            print(f"{kind.name:<14}{len(jobs):>10}{n['refused']:>10}{n['same']:>8}{n['said']:>8}{n['silent']:>8}{len(wrong):>6}", flush=True)
            for result, how in wrong[:10]:
                print(f"  {kind.file}: {how}: {result}")
            bad += len(wrong)
        os.chdir("/")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

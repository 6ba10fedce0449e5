#!/usr/bin/env python3
"""Calibrations under faults: processes, ranks and mpirun killed at random moments, stopped ranks, full disks, folders that go away, a time of
day that jumps. Not in CI: some minutes.

  tests/mutations/kills.py BUILD [KILLS [SEED]]

BUILD is a configured build folder of this tree, KILLS how many in all (100). After each fault no process of the run is left 30 s later, the file
has every point that the run had told of and at most the one in flight beside them, none twice, none that nobody asked for. Gone on with to its
end, it has the points of an undisturbed run; simulated, its rows and the prices fitted to them are the same to the last digit. Exit status 1:
something of that does not hold. Only processes that carry this run's mark in their environment are killed. Parts that need mpirun, a backend or
the right to mount are skipped with a line."""
import collections
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARK = f"LAYERMETER_FAULTS={uuid.uuid4()}"
LEFT = 30  # seconds after which nothing may run any more
MEASURED = ("seconds", "min_seconds", "p95_seconds", "cpu_seconds", "repeats", "clock_mhz", "power_w", "flags")

SIM = """[sweep]
backend     = sim
warmup      = 0
min_repeats = 1
max_repeats = 1

[sim]
machine = machine.ini
noise   = 0.02

[networks]
networks = tiny.ini, wide.ini, deep.ini
batch    = 1..%d
ranks    = %s

[kernels]
networks = tiny.ini, deep.ini

[collectives]
bytes = 4KiB..1MiB*2
"""
ONEDNN = """[sweep]
backend      = onednn
%swarmup       = 0
min_repeats  = 1
max_repeats  = 1
retries      = 0
anchor_share = 0

[networks]
networks = tiny.ini
batch    = 1..%d
ranks    = %s

[kernels]
networks = tiny.ini, deep.ini
"""


class Broken(Exception):
    pass


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(") ", 1)[1][0]
    except OSError:
        return None


def ours():
    """Processes of this run that have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                marked = MARK.encode() in file.read()
        except OSError:
            continue
        if marked and state(pid) not in (None, "Z"):
            found.append(int(pid))
    return found


def keys(path):
    """A key of each whole point."""
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        text = file.read()
    rows = csv.reader(line for line in text[:text.rfind("\n") + 1].splitlines(True) if not line.startswith("#"))
    head, found = next(rows, None), []
    for row in rows:
        cell = dict(zip(head, row))
        if cell["kind"] != "network" or cell["phase"] == "step":
            found.append(tuple(v for k, v in cell.items() if k not in MEASURED))
    return found


def rows(path):
    with open(path) as file:
        return sorted(line for line in file if not line.startswith("#"))


class Campaign:
    """One sweep, killed and gone on with."""

    def __init__(self, build, name, sweep, command, exact, preload=None):
        self.build, self.name, self.sweep, self.command, self.exact = build, name, f"{name}.ini", command, exact
        self.file, self.whole = f"{name}.csv", f"{name}.whole.csv"
        self.environ = dict(os.environ, PATH=f"{build}/bin:{os.environ['PATH']}", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                            LC_ALL="C", OMP_NUM_THREADS="1", **dict([MARK.split("=")]))
        for name in ("LAYERMETER_PLUGIN_PATH", "LAYERMETER_MODEL_PATH"):
            self.environ.pop(name, None)
        self.preload = {"LD_PRELOAD": preload} if preload else {}
        self.left = 0.0  # seconds until the last process was gone, at most
        self.lost = self.faults = 0
        with open(self.sweep, "w") as file:
            file.write(sweep)
        began = time.monotonic()
        self.begin(self.whole, preload={})
        self.begun()
        began = time.monotonic()
        if self.run.wait(600):
            raise Broken(f"undisturbed: {self.said()}")
        self.seconds = time.monotonic() - began
        self.points = keys(self.whole)
        if len(set(self.points)) != len(self.points):
            raise Broken("undisturbed: a point twice")

    def begin(self, path, *options, preload=None):
        self.output = open("out", "wb")
        self.run = subprocess.Popen(self.command + [self.sweep, "-o", path, *options], stdin=subprocess.DEVNULL, stdout=self.output,
                                    stderr=subprocess.STDOUT, env={**self.environ, **(self.preload if preload is None else preload)})

    def said(self):
        with open("out", errors="replace") as file:
            return file.read()

    def told(self):
        return len(re.findall(r"^\[\d+/\d+\] ", self.said(), re.M))

    def begun(self):
        while self.run.poll() is None and not self.told():
            time.sleep(0.01)

    def ranks(self):
        """In the order in which mpirun started them; of a process alone itself."""
        if "mpirun" not in self.command[0]:
            return [self.run.pid]
        try:
            with open(f"/proc/{self.run.pid}/task/{self.run.pid}/children") as file:
                return [int(pid) for pid in file.read().split()]
        except OSError:
            return []

    def all_gone(self):
        began = time.monotonic()
        while True:
            left = ours()
            self.run.poll()
            if not left:
                break
            if time.monotonic() - began > LEFT:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                self.run.wait()
                raise Broken(f"still there after {LEFT} s: {len(left)} processes")
            time.sleep(0.05)
        self.left = max(self.left, time.monotonic() - began)
        self.run.wait()

    def judge(self, before, exactly=True):
        """exactly: all that was told of has reached us."""
        now, told = keys(self.file), self.told()
        if len(set(now)) != len(now):
            raise Broken("a point twice")
        if set(now) - set(self.points):
            raise Broken(f"a point that nobody asked for: {set(now) - set(self.points)}")
        if len(now) < before + told:
            self.lost += before + told - len(now)
            raise Broken(f"held {before} points, told of {told} more, and holds {len(now)}")
        if exactly and len(now) > before + told + 1:
            raise Broken(f"held {before} points, told of {told} more, but holds {len(now)}")

    def kill(self, rng, span, number):
        before = len(keys(self.file))
        self.begin(self.file, "--resume")
        if number % 5 != 3:  # else while it starts
            self.begun()
        time.sleep(rng.random() * span)
        ranks = self.ranks()
        victims, alone = [self.run.pid] + ranks, "mpirun" not in self.command[0]
        if not alone and number % 4 != 3:
            victims = ([ranks[0:1], ranks[1:2], [self.run.pid]][number % 4]) or [self.run.pid]
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.all_gone()
        self.faults += 1
        # what a killed mpirun had not handed on is not told
        self.judge(before, exactly=alone or self.run.pid not in victims)

    def finish(self):
        """To the end, and like the undisturbed run."""
        self.begin(self.file, "--resume")
        if self.run.wait(600):
            raise Broken(f"at last: {self.said()}")
        self.all_gone()
        if sorted(keys(self.file)) != sorted(self.points):
            raise Broken("not the points of the undisturbed run")
        prices = []
        for path in (self.whole, self.file):
            fit = subprocess.run([f"{self.build}/bin/layermeter", "fit", path, "-o", "fitted.ini"], env=self.environ, capture_output=True,
                                 check=False)
            if fit.returncode:
                raise Broken(f"{path} cannot be fitted: {fit.stderr.decode()}")
            with open("fitted.ini") as file:
                prices.append(re.sub(r"\[provenance\]\n(.+\n)*", "", re.sub(r"^checksum.*\n", "", file.read(), flags=re.M)))
        if self.exact and rows(self.whole) != rows(self.file):
            raise Broken("other rows than the undisturbed run")
        if self.exact and prices[0] != prices[1]:
            raise Broken("other prices than the undisturbed run")

    def report(self, what, n):
        end = "rows and prices as undisturbed" if self.exact else "points as undisturbed, and fitted"
        print(f"{self.name:<12}{n:>4} {what}: {self.lost} points lost, gone after {self.left:.1f} s at most; {end}", flush=True)


def killed(c, n, rng):
    span = c.seconds * 20 / 12 / n
    for number in range(n):
        c.kill(rng, span, number)
    c.finish()
    c.report("kills", n)


def stopped(c, n):
    """A stopped rank ends the run by itself; a process alone goes on when it is told to."""
    os.remove(c.file)
    for number in range(n):
        before = len(keys(c.file))
        c.begin(c.file, "--resume")
        c.begun()
        ranks = c.ranks()
        if c.run.poll() is not None:
            raise Broken(f"ended before it was stopped: {c.said()}")
        os.kill(ranks[number % len(ranks)], signal.SIGSTOP)
        if ranks == [c.run.pid]:
            time.sleep(1)
            os.kill(c.run.pid, signal.SIGCONT)
            time.sleep(0.05)
            os.kill(c.run.pid, signal.SIGKILL)
        c.all_gone()
        c.judge(before)
    c.finish()
    c.report("stops (SIGSTOP)", n)


def one_line(c, text):
    lines = [line for line in c.said().splitlines() if line.startswith("layermeter")]
    if not any(re.search(text, line) for line in lines):
        raise Broken(f"'{text}' was not said: {c.said()[-400:]}")


def full_disk(c):
    os.remove(c.file)
    os.makedirs("disk", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", "disk"], capture_output=True, check=False).returncode:
        print(f"{c.name:<12}   - full disk: skipped, nothing can be mounted here")
        return
    try:
        c.begin("disk/o.csv")
        code = c.run.wait(300)
        c.all_gone()
        shutil.copy("disk/o.csv", c.file)
    finally:
        subprocess.run(["umount", "disk"], check=True)
    if not code:
        raise Broken("a full disk is no failure")
    one_line(c, "No space left on device")
    c.judge(0)
    c.finish()
    c.report("full disk", 1)


def vanished(c):
    os.remove(c.file)
    os.makedirs("folder")
    c.begin(f"folder/{c.file}")
    c.begun()
    os.rename("folder", "elsewhere")
    code = c.run.wait(300)
    c.all_gone()
    shutil.move(f"elsewhere/{c.file}", c.file)
    shutil.rmtree("elsewhere")
    if not code:
        raise Broken("a folder that goes away is no failure")
    one_line(c, "no longer exists")
    c.judge(0)
    c.finish()
    c.report("vanished folder", 1)


def starts(build, *command):
    environ = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PATH=f"{build}/bin:{os.environ['PATH']}")
    try:
        return subprocess.run(command, env=environ, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main():
    build, kills = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng, alone, bad = random.Random(seed), [f"{build}/bin/layermeter-calibrate"], 0
    many = ["mpirun", "--oversubscribe", "-np", "2"]
    two = many + alone if starts(build, *many, "true") else None
    jumping = f"{build}/tests/cli/fakes/jumping_clock.so"
    Part = collections.namedtuple("Part", "name share sweep command exact preload")
    parts = [
        Part("sim", 0.3, SIM % (200, "1, 2, 4"), alone, True, None),
        Part("clock", 0.1, SIM % (200, "1, 2, 4"), alone, True, jumping),
        Part("sim ranks", 0.25, SIM % (60, "1, 2"), two, True, None),
        Part("onednn", 0.1, ONEDNN % ("", 100, "1"), alone, False, None),
        Part("onednn ranks", 0.25, ONEDNN % ("collective   = mpi\n", 100, "1, 2"), two, False, None),
    ]
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as work:
        for name in os.listdir(f"{ROOT}/tests/cli/inputs"):
            if name.endswith(".ini"):
                shutil.copy(f"{ROOT}/tests/cli/inputs/{name}", work)
        os.chdir(work)
        for part in parts:
            if not part.command or (part.preload and not os.path.exists(part.preload)):
                print(f"{part.name:<12}   - skipped: no mpirun, or nothing that makes the time of day jump")
                continue
            try:
                c = Campaign(build, part.name.replace(" ", "_"), part.sweep, part.command, part.exact, part.preload)
                killed(c, max(1, round(kills * part.share)), rng)
                if part.preload:
                    continue
                c.left = c.lost = 0
                stopped(c, 2)
                c.left = 0
                full_disk(c)
                vanished(c)
            except Broken as why:
                if "this build has no backend" in str(why):
                    print(f"{part.name:<12}   - skipped: {why}")
                    continue
                print(f"{part.name:<12} FAILED: {why}", flush=True)
                bad += 1
        os.chdir("/")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

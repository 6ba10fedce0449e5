#!/usr/bin/env python3
"""Options, cells of files and numbers of plans at extreme values: what is asked exits with 0, 1 or 2, says one line where it refuses, and a
sanitizer nothing.

  tests/mutations/extremes.py PROGRAMS INPUTS [CASES [SEED]]

PROGRAMS is the folder of `layermeter`, best of a build with sanitizers; INPUTS is tests/cli/inputs. Each case takes one option of one command, one
cell of an observation file, of a machine file, or one number of a plan, at random from SEED, and gives it one of the values below. Exit status 1:
a command crashed, took more than a minute, refused in more than a line, or a sanitizer spoke."""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

VALUES = ["0", "-0", "-1", "1", "1e-320", "1e300", "1e400", "-1e300", "nan", "inf", "-inf", "2147483648", "4294967295", "4611686018427387905",
          "9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999999", "", " ", "x", "1..9223372036854775807",
          "1..4*1", "1..9223372036854775807*2", "4611686018427387904..9223372036854775807+4611686018427387903", "0x7fffffffffffffff",
          "9223372036854775807GiB", "1e300 GB", "1e300s", "1e18 days", "1e300 USD/h", "1x1x1x1x1x1x1x1x1x1", "9223372036854775807x2", "tp9223372036854775807",
          "tp2 pp9223372036854775807", "=cmd|' /C calc'!A0", "\x1b[31m", "\u009b31m", "%s%n", "../../../../etc/passwd", "a" * 5000]
COMMANDS = {
    "predict": ["tiny.ini", "--machine", "m.ini"], "scale": ["tiny.ini", "--machine", "m.ini", "--nodes", "1"],
    "plan": ["tiny.ini", "--machine", "m.ini", "--nodes", "1", "--devices-per-node", "2"], "memory": ["gpt2"],
    "energy": ["tiny.ini", "--machine", "power.ini"], "collectives": ["--machine", "m.ini"],
    "suggest": ["observations.csv", "--for", "tiny.ini"], "fit": ["observations.csv", "-o", "out.ini"], "validate": ["observations.csv"],
    "watch": ["--plan", "plan.json", "--trace", "smi.csv"], "epochs": ["smi.csv"], "digest": ["smi.csv"], "export": ["observations.csv"],
    "layers": ["conv2d"], "models": [], "show": ["tiny.ini"], "report": ["tiny.ini", "--machine", "m.ini", "-o", "r.html"], "devices": [],
    "import": ["tiny.ini"], "transfer": ["m.ini", "--from", "A100", "--to", "H100", "-o", "t.ini"],
}


def numbers(node, path=()):
    """Paths of all numbers of a JSON document."""
    if isinstance(node, (dict, list)):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from numbers(value, path + (key,))
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield path


def replaced(node, path, value):
    """The document's text with that number as it is spelt."""
    mark = "@@number@@"
    node = json.loads(json.dumps(node))
    inner = node
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = mark
    return json.dumps(node).replace(f'"{mark}"', value or "null")


def options_of(program, command):
    text = subprocess.run([program, command, "--help"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return sorted(set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z0-9-]*) (?=[A-Z'\[])", text, re.M)))


class Cases:
    def __init__(self, program, rng):
        self.program, self.rng = program, rng
        self.options = [(c, o) for c in COMMANDS for o in options_of(program, c)]
        with open("observations.csv") as file:
            self.rows = file.read().splitlines()
        with open("m.ini") as file:
            self.machine = [line for line in file.read().splitlines() if not line.startswith("checksum")]
        with open("plan.json") as file:
            self.plan = json.load(file)
        self.plan = {k: v for k, v in self.plan.items() if "checksum" not in k}
        self.paths = list(numbers(self.plan))

    def one(self, number):
        rng, kind = self.rng, self.rng.randrange(10)
        value = rng.choice(VALUES)
        if kind < 6:
            command, option = rng.choice(self.options)
            return f"{command} {option} {value[:60]!r}", [command, *COMMANDS[command], option, value], None
        if kind < 8:
            at = rng.choice([i for i, row in enumerate(self.rows) if not row.startswith(("#", "kind"))])
            cells = self.rows[at].split(",")
            column = rng.randrange(len(cells))
            cells[column] = value.replace(",", "")
            name, text = f"o{number}.csv", "\n".join(self.rows[:at] + [",".join(cells)] + self.rows[at + 1:]) + "\n"
            return f"cell {column}: {value[:60]!r}", rng.choice([["fit", name, "-o", f"{name}.ini"], ["validate", name],
                                                                 ["suggest", name, "--for", "tiny.ini"]]), (name, text)
        if kind < 9:
            at = rng.choice([i for i, line in enumerate(self.machine) if "=" in line])
            key = self.machine[at].split("=")[0]
            name, text = f"m{number}.ini", "\n".join(self.machine[:at] + [f"{key}= {value}"] + self.machine[at + 1:]) + "\n"
            return f"machine {key.strip()}: {value[:60]!r}", rng.choice([["predict", "tiny.ini", "--machine", name, "--explain"],
                                                                         ["plan", "tiny.ini", "--machine", name, "--dataset", "1000"]]), (name, text)
        path = rng.choice(self.paths)
        name = f"p{number}.json"
        return f"plan {path}: {value[:60]!r}", ["watch", "--plan", name, "--trace", "smi.csv"], (name, replaced(self.plan, path, value))

    def ask(self, case):
        what, command, file = case
        if file:
            with open(file[0], "w") as out:
                out.write(file[1])
        try:
            done = subprocess.run([self.program, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                  check=False)
        except subprocess.TimeoutExpired:
            return what, "takes more than a minute"
        finally:
            if file:
                os.remove(file[0])
        said = done.stderr.decode(errors="replace")
        if "runtime error" in said or "Sanitizer" in said:
            return what, said[:600]
        if done.returncode not in (0, 1, 2):
            return what, f"exit status {done.returncode}: {said[:200]}"
        # what is drawn or watched comes after what is printed
        if done.returncode == 1 and command[0] != "watch" and "--plot" not in command and (said.count("\n") != 1 or done.stdout):
            return what, f"refused in {said.count(chr(10))} lines: {said[:200]}"
        if any(c in said + done.stdout.decode(errors="replace") for c in "\x1b\u009b"):
            return what, "an escape reaches the terminal"
        return what, None


def main():
    program, inputs = os.path.join(os.path.abspath(sys.argv[1]), "layermeter"), os.path.abspath(sys.argv[2])
    count, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 2000, int(sys.argv[4]) if len(sys.argv) > 4 else 1
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name in os.listdir(inputs):
            if os.path.isfile(os.path.join(inputs, name)):
                shutil.copy(os.path.join(inputs, name), name)
        with open("smi.csv", "w") as file:
            file.write("timestamp,index,utilization.gpu [%],power.draw [W]\n")
            file.writelines(f"{1.7e9 + i / 10:.1f},0,{94 if i % 160 < 150 else 10},{300 if i % 160 < 150 else 90}\n" for i in range(1000))
        subprocess.run([program, "fit", "observations.csv", "-o", "m.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open("plan.json", "w") as file:
            subprocess.run([program, "plan", "tiny.ini", "--machine", "m.ini", "--nodes", "1", "--devices-per-node", "2", "--format", "json"],
                           stdout=file, stderr=subprocess.DEVNULL, check=True)
        cases = Cases(program, random.Random(seed))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for what, why in pool.map(cases.ask, [cases.one(number) for number in range(count)]):
                if why:
                    print(f"{what}: {why}", flush=True)
                    bad += 1
        os.chdir("/")
    print(f"{count} cases ({len(cases.options)} options of {len(COMMANDS)} commands), seed {seed}: {bad} bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

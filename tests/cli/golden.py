#!/usr/bin/env python3
"""Golden tests, for run.sh, which says what a case is and finds the programs: golden.py [--regenerate] [NAME...].

One process runs all cases. It starts the case's own commands and no others, since a process costs more than most cases do."""
import difflib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = HERE / "inputs"
CASES = HERE / "cases"
BUILD = os.environ["LAYERMETER_BUILD"].encode()
LONG = re.compile(rb"[0-9]+\.[0-9]{9}[0-9]*")
TINY = re.compile(rb"[0-9]\.[0-9]+e-(?:1[3-9]|[2-9][0-9])")
# What depends on the place, the version or the processor. A case may have put N for each number.
PORTABLE = [
    (re.compile(re.escape(BUILD)), b"@BUILD@"),
    (re.compile(re.escape(re.sub(rb"[0-9]+", b"N", BUILD))), b"@BUILD@"),
    (re.compile(rb"@BUILD@/[^ ,\n]*/layermeter/plugins"), b"@PLUGINS@"),
    (re.compile(rb"^(from [a-z-]* )[0-9.]* ", re.M), rb"\1@VERSION@ "),
    (re.compile(rb'^([" ]*checksum[" =:]*)[0-9a-f]{16}', re.M), rb"\1@CHECKSUM@"),
]


class Case:
    """The text of a case: its commands, and its files with what `printf '%b'` makes of those that are marked so."""

    def __init__(self, name):
        self.prepare, self.command, self.files = [], b"", {}
        raw, file = [], None
        for line in (CASES / f"{name}.case").read_bytes().splitlines():
            if line.startswith(b"--- "):
                words = line.split()
                file = words[1].decode()
                self.files[file] = []
                if words[2:3] == [b"printf"]:
                    raw.append(file)
            elif file:
                self.files[file].append(line + b"\n")
            elif line.startswith(b"$ "):
                self.prepare += [self.command] if self.command else []
                self.command = line[2:]
        self.files = {file: b"".join(lines) for file, lines in self.files.items()}
        for file in raw:
            self.files[file] = subprocess.run(["sh", "-c", "printf '%b' \"$1\"", "sh", self.files[file].rstrip(b"\n")], stdout=subprocess.PIPE,
                                              check=True).stdout


class Folder:
    """A copy of inputs/ that is one again before each case: only what the case before has touched is copied anew."""

    def __init__(self, path):
        self.path = str(path)
        self.copied = None

    def entries(self):
        """What tells whether an entry was touched: of a file inode and last change, of a folder its mode alone, as entries touch it."""
        found, folders = {}, [self.path]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    name = "." + entry.path[len(self.path):]
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        found[name] = stat.S_IMODE(status.st_mode), None
                    else:
                        found[name] = status.st_ino, status.st_ctime_ns, stat.S_ISREG(status.st_mode)
        return found

    def files(self):
        return {(name, *what[:2]) for name, what in self.entries().items() if what[1] is not None and what[2]}

    def restore(self):
        found = None if self.copied is None else self.entries()
        folders = [{name: what for name, what in entries.items() if what[1] is None} for entries in (found or {}, self.copied or {})]
        if found is None or folders[0] != folders[1]:
            subprocess.run(["rm", "-rf", self.path], check=True)
            shutil.copytree(INPUTS, self.path)
        else:
            for name in {name for name, _ in found.items() ^ self.copied.items()}:
                path = pathlib.Path(self.path, name)
                path.unlink(missing_ok=True)
                if (INPUTS / name).exists():
                    shutil.copy2(INPUTS / name, path)
        self.copied = self.entries()


def portable(text):
    for pattern, put in PORTABLE:
        text = pattern.sub(put, text)
    return text


def rounded(text):
    """The last digits of a sum are the processor's own: OpenBLAS has other kernels for each. Compared are eleven, and what is left of a
    difference of equal numbers, below 1e-12, counts as none."""
    return LONG.sub(lambda number: b"%.11g" % float(number.group()), TINY.sub(b"0e-13", text))


def run_case(name, folder, work):
    """The text to compare, and why the case is refused whatever is expected: a list of words."""
    folder.restore()
    case = Case(name)
    for file, text in case.files.items():
        pathlib.Path(folder.path, file).write_bytes(text)
    out, err = work / "out", work / "err"

    def shell(options, commands, stderr):
        (work / "commands").write_bytes(commands + b"\n")
        with open(out, "wb") as to, open(err, "wb") as errors:
            return subprocess.run(["sh", *options, work / "commands"], cwd=folder.path, stdin=subprocess.DEVNULL, stdout=to,
                                  stderr=subprocess.STDOUT if stderr == "out" else errors, check=False).returncode

    if case.prepare and shell(["-e"], b"\n".join(case.prepare), "out"):
        return b"", [f"{name}: cannot be prepared:", out.read_text(errors="replace")]
    before = folder.files()
    status = shell([], case.command, "err")
    after = folder.files()
    if status < 0: # of a signal, as a shell says it
        status = 128 - status
    wrote = sorted({b"wrote " + os.fsencode(file).split(b" ")[0] + b"\n" for file, _, _ in after - before})
    stdout, stderr = out.read_bytes(), err.read_bytes()
    actual = b"exit %d\n%s--- stdout\n%s--- stderr\n%s" % (status, b"".join(wrote), portable(stdout), portable(stderr))
    refused = []
    if status > 2:
        refused.append(f"{name}: exit {status}")
    if status and stderr.count(b"\n") != 1:
        refused.append(f"{name}: a refusal is one line on stderr")
    if status and stdout:
        refused.append(f"{name}: a refusal with data on stdout")
    if status and before != after:
        refused.append(f"{name}: a refusal that leaves files behind")
    return actual, refused + [actual.decode(errors="replace")] if refused else []


def lacks(name):
    """Whether the case asks for what this build has not."""
    commands = re.findall(rb"^\$.*$", (CASES / f"{name}.case").read_bytes(), re.M)
    calibrates = os.access(os.path.join(os.environ["LAYERMETER_BIN"], "layermeter-calibrate"), os.X_OK)
    return any(not calibrates and re.search(rb"layermeter[- ]calibrate", command) or
               os.environ.get("HAVE_ONNX") == "OFF" and b".onnx" in command or
               os.environ.get("HAVE_SQLITE") == "OFF" and b".sqlite" in command for command in commands)


def main(arguments):
    regenerate = arguments[:1] == ["--regenerate"]
    names = arguments[1:] if regenerate else arguments
    names = names or sorted(path.stem for path in CASES.glob("*.case"))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        folder = Folder(work / "here")
        for name in names:
            if lacks(name):
                continue
            actual, refused = run_case(name, folder, work)
            expected = CASES / f"{name}.expected"
            if refused:
                failed += 1
                print(*refused, sep="\n", flush=True)
            elif regenerate:
                expected.write_bytes(actual)
            elif not expected.exists():
                failed += 1
                print(f"{name}: has no .expected", flush=True)
            elif (text := expected.read_bytes()) != actual and (text := rounded(text)) != (actual := rounded(actual)):
                failed += 1
                lines = [part.decode(errors="replace").splitlines() for part in (text, actual)]
                print(f"{name}: differs from its .expected:", *difflib.unified_diff(*lines, "expected", "actual", lineterm=""), sep="\n", flush=True)
    print(f"{len(names)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

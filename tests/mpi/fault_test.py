#!/usr/bin/env python3
"""No fault of a peer hangs a run between processes.

usage: fault_test.py CHIMERA_BINARY [--all] [--repeats N] [--jobs N]
                     [--only WORD]... [--list] [--keep]

Each case trains four emulated workers under mpirun with one action that
dominates the step, and then kills a rank, stops it, or cuts the link between
two hosts (network namespaces of this machine). The whole job must end soon
after the deadline, every survivor must say whom it lost and what it was doing,
and the run directory must say the same. Without --all, a subset that has every
fault and every action. 77 = skipped.
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

RANKS = 4
TIMEOUT_S = 4     # run.timeout_s
GRACE_S = 5       # after the deadline, until the last process has ended
START_S = 60      # four processes load libtorch on a busy machine
RECORDER = pathlib.Path(__file__).with_name("rank_recorder.py").resolve()
MARK = "CHIMERA_FAULT_TEST"  # in the environment of all processes of a case

# Settings that make one action by far the longest; all others take 2 ms.
ACTIONS = {
    "forward": {"forward_ms": "[150]"},
    "backward": {"input_grad_ms": "[100]", "weight_grad_ms": "[100]"},
    "sum": {"grad_bytes": "20_000_000", "link_gbps": "1"},
    "update": {"update_ms": "300"},
}
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
CUTS = ("down", "drop")

CONFIG = """
[model]
kind = "emulated"
{model}
[schedule]
scheme = "chimera"
depth = 4
micros = 4
micro_batch = 1
[train]
steps = {steps}
[run]
timeout_s = {timeout}
"""

# Replaces ssh as mpirun's way to the other host: [options] HOST COMMAND...
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
shift
exec ip netns exec {there} unshare --uts sh -c \
'hostname b; exec sh -c "$*"' sh "$@"
"""

# Without these settings mpirun and the daemon beyond a cut link wait 8 minutes
# for each other. mpirun must notice before the ranks end: while sent data is
# unacknowledged, TCP sends no keepalives.
KEEPALIVE = {"oob_tcp_keepalive_time": 1, "oob_tcp_keepalive_intvl": 1,
             "oob_tcp_keepalive_probes": 2}


@dataclasses.dataclass(frozen=True)
class Case:
    fault: str   # kill, stop; down, drop: ways to cut the link; dump
    action: str
    victim: int = -1  # -1 if the link is cut
    hosts: int = 1    # 2: TCP between them; 1: shared memory

    def __str__(self):
        whom = f" of rank {self.victim}" if self.victim >= 0 else ""
        where = " on two hosts" if self.hosts == 2 else ""
        return f"{self.fault}{whom} in {self.action}{where}"


def cut(how, action):
    return Case(how, action, hosts=2)


def all_cases():
    ranks = itertools.product(SIGNALS, ACTIONS, range(RANKS), (1, 2))
    cuts = itertools.product(CUTS, ACTIONS)
    return ([Case(*case) for case in ranks] + [cut(*case) for case in cuts] +
            [Case("dump", "backward", 2)])


# A subset: every fault with at least two actions, every action with at least
# two faults, rank 0 and others.
COVERING = [
    Case("kill", "forward", 0),
    Case("kill", "sum", 1),
    Case("kill", "update", 3),
    Case("kill", "backward", 0, hosts=2),
    Case("kill", "sum", 3, hosts=2),
    Case("stop", "backward", 0),
    Case("stop", "sum", 2),
    Case("stop", "update", 1),
    Case("stop", "forward", 2, hosts=2),
    cut("down", "sum"),
    cut("drop", "forward"),
    cut("drop", "update"),
    Case("dump", "backward", 2),
]


def run(*command):
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


class Network:
    """Two hosts, a and b: network namespaces joined by one link."""
    numbers = itertools.count()

    def __init__(self):
        # Interface names have at most 15 characters.
        name = f"cf{os.getpid()}x{next(self.numbers)}"
        self.near, self.far = name + "a", name + "b"

    def __enter__(self):
        try:
            for host in (self.near, self.far):
                run("ip", "netns", "add", host)
            run("ip", "link", "add", self.near, "netns", self.near, "type",
                "veth", "peer", "name", self.far, "netns", self.far)
            for number, host in enumerate((self.near, self.far), 1):
                run("ip", "-n", host, "addr", "add", f"10.77.0.{number}/24",
                    "dev", host)
                run("ip", "-n", host, "link", "set", "lo", "up")
                run("ip", "-n", host, "link", "set", host, "up")
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", host], capture_output=True)

    def cut(self, how):
        if how == "down":
            run("ip", "-n", self.near, "link", "set", self.near, "down")
            return
        for chain, flag in (("INPUT", "-i"), ("OUTPUT", "-o")):
            run("ip", "netns", "exec", self.near, "iptables", "-A", chain, flag,
                self.near, "-j", "DROP")

    def join(self):
        """Undoes cut("down")."""
        run("ip", "-n", self.near, "link", "set", self.near, "up")

    def launch(self, folder):
        """The command before mpirun, and mpirun's options."""
        agent = write_script(folder / "agent", AGENT.format(there=self.far))
        here = ["ip", "netns", "exec", self.near, "unshare", "--uts",
                "sh", "-c", 'hostname a; exec "$@"', "sh"]
        parameters = {"plm_rsh_agent": agent, "btl": "self,tcp",
                      "btl_tcp_if_include": "10.77.0.0/24",
                      "oob_tcp_if_include": "10.77.0.0/24", **KEEPALIVE}
        return here, ["--host", "a:2,b:2", *mca(parameters)]


def mca(parameters):
    return [str(word) for pair in parameters.items()
            for word in ("--mca", *pair)]


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def is_marked(pid, mark):
    try:
        return mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # ended meanwhile
        return False


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class Job:
    """One run under mpirun, and all processes that belong to it."""

    def __init__(self, folder, network=None):
        self.folder, self.network = folder, network
        self.run_dir = folder / "run"
        self.mark = f"{MARK}={uuid.uuid4()}".encode()
        self.mpirun = None

    def start(self, chimera, action, steps):
        model = {"forward_ms": "[2]", "input_grad_ms": "[2]",
                 "weight_grad_ms": "[2]", **ACTIONS[action]}
        config = self.folder / "run.toml"
        config.write_text(CONFIG.format(
            model="\n".join(f"{key} = {value}" for key, value in model.items()),
            steps=steps, timeout=TIMEOUT_S))
        before, options = (self.network.launch(self.folder) if self.network
                           else ([], []))
        name, value = self.mark.decode().split("=")
        # Files that a killed mpirun leaves behind are removed with the folder.
        options += mca({"btl_vader_backing_directory": self.folder})
        with open(self.folder / "mpirun.out", "wb") as out:
            self.mpirun = subprocess.Popen(
                [*before, "mpirun", "--allow-run-as-root", "--oversubscribe",
                 "--bind-to", "none", "-n", str(RANKS), *options,
                 sys.executable, RECORDER, self.folder / "rank",
                 chimera, "train", "-c", config, "--run-dir", self.run_dir],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, name: value, "TMPDIR": str(self.folder)},
                start_new_session=True)

    def processes(self):
        self.mpirun.poll()  # collects it, so that no zombie stays
        return [int(entry) for entry in os.listdir("/proc")
                if entry.isdigit() and is_marked(entry, self.mark)]

    def wait_until_gone(self, seconds):
        """How long it took; None if processes are left."""
        start = time.monotonic()
        while self.processes():
            if time.monotonic() - start > seconds:
                return None
            time.sleep(0.05)
        return time.monotonic() - start

    def end(self):
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        self.mpirun.wait()

    def metrics(self):
        text = self.text("run/metrics.jsonl")
        return [json.loads(line) for line in text.splitlines(True)
                if line.endswith("\n")]

    def wait_for_steps(self, steps, seconds=START_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.mpirun.poll() is None:
            if len(self.metrics()) >= steps:
                return True
            time.sleep(0.02)
        return False

    def text(self, name):
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def pid(self, rank):
        return int(self.text(f"rank.{rank}.pid"))

    def code(self, rank):
        text = self.text(f"rank.{rank}.code")
        return int(text) if text else None

    def host(self, rank):
        if self.network is None:
            return socket.gethostname()
        return "a" if rank < RANKS // 2 else "b"

    def name(self, rank):
        return f"rank {rank} ({self.host(rank)}, worker {rank})"

    def show(self):
        """Print all logs of a failed case."""
        files = ["mpirun.out", "run/state.json"]
        files += [f"rank.{rank}.{kind}" for rank in range(RANKS)
                  for kind in ("code", "err")]
        files += [f"run/flight/rank_{rank}.txt" for rank in range(RANKS)]
        for name in files:
            lines = self.text(name).splitlines()[-8:]
            print(f"    {name}:" + "".join(f"\n      {line}" for line in lines))


# ---- Checks of a run that lost a rank. Each yields complaints.

# Messages and computations name a stage and a micro-batch, a sum its group, an
# update its stage, a vote nothing.
DOING = re.compile(
    r"step (\d+), (?:"
    r"(?:forward|backward|input gradient|weight gradient|recomputation|"
    r"(?:receive|send) of an? (?:activation|gradient)) of stage \d+, "
    r"micro-batch \d+|"
    r"gradient sum of (?:group|stage) \d+|update of stage \d+|vote)")


def error_lines(job, rank):
    return [line for line in job.text(f"rank.{rank}.err").splitlines()
            if line.startswith("error")]


def check_words(job, survivor, lost):
    """One line says who lost whom while doing what."""
    lines = error_lines(job, survivor)
    if len(lines) != 1:
        yield f"rank {survivor} wrote {len(lines)} error lines, not one"
        return
    beginning = "error: " + job.name(survivor)
    if not lines[0].startswith(beginning):
        yield f"rank {survivor} does not begin with '{beginning}': {lines[0]}"
    rest = lines[0][len(beginning):]
    if not any(job.name(rank) in rest for rank in lost):
        yield (f"rank {survivor} names none of "
               f"{[job.name(rank) for rank in lost]}: {lines[0]}")
    if not DOING.search(rest):
        yield f"rank {survivor} does not say what it was doing: {lines[0]}"


def check_codes(job, survivors):
    """Exit code 5 or 6; once one rank has ended, mpirun may kill the others
    first."""
    codes = {rank: job.code(rank) for rank in survivors}
    if not set(codes.values()) <= {5, 6, 128 + signal.SIGKILL}:
        yield f"exit codes {codes}, not 5 or 6"
    elif set(codes.values()) == {128 + signal.SIGKILL}:
        yield "mpirun killed all; none ended itself"


def check_flight(job, survivor, oldest_end):
    """The last actions are listed, newest last, up to the interrupted step."""
    name = f"run/flight/rank_{survivor}.txt"
    # "  0.216091 s ago: step 4, update of stage 3"
    steps = [int(step) for step in re.findall(r"^\s*(?:.* ago: )?step (\d+), ",
                                              job.text(name), re.M)]
    if not steps:
        yield f"{name} tells of no step"
    elif steps != sorted(steps):
        yield f"{name} is not in order"
    elif steps[-1] < oldest_end:
        yield f"{name} ends with step {steps[-1]}, before step {oldest_end}"


def check_state(job, survivors):
    try:
        state = json.loads(job.text("run/state.json"))
    except ValueError as error:
        yield f"state.json: {error}"
        return
    if state.get("state") != "failed" or state.get("exit") not in (5, 6):
        yield f"state.json says {state}"
    # The steps that are done: at least those that rank 0 reported (a vote may
    # have reached rank 0 only), and none that a survivor was still in.
    during = [int(match[1]) for rank in survivors
              for line in error_lines(job, rank)
              if (match := DOING.search(line))]
    told = len(job.metrics())
    if during and not told - 1 <= state.get("step", -1) <= max(during) - 1:
        yield (f"state.json says {state}; the metrics have {told} steps, the "
               f"survivors were in step {sorted(set(during))}")


def check_survivors(job, case):
    near, far = range(RANKS // 2), range(RANKS // 2, RANKS)
    survivors = [rank for rank in range(RANKS) if rank != case.victim]
    yield from check_state(job, survivors)
    yield from check_codes(job, survivors)
    for rank in survivors:
        lost = [case.victim]
        if case.fault in CUTS:
            lost = far if rank in near else near
        yield from check_words(job, rank, lost)
        yield from check_flight(job, rank, len(job.metrics()))


# ---- Cases

def hit(job, case, random_numbers):
    """Cause the fault at a random time within a step."""
    step_s = job.metrics()[-1]["step_s"]
    time.sleep(random_numbers.uniform(0, step_s))
    if case.fault in CUTS:
        job.network.cut(case.fault)
    else:
        os.kill(job.pid(case.victim), SIGNALS[case.fault])


def lose(job, case, chimera, random_numbers):
    """Complaints, and the time until all processes were gone."""
    job.start(chimera, case.action, steps=100_000)
    if not job.wait_for_steps(2):
        return ["the run did not start"], None
    hit(job, case, random_numbers)
    took = job.wait_until_gone(TIMEOUT_S + GRACE_S)
    complaints = []
    if took is None:
        left = [name_of(pid) for pid in job.processes()]
        complaints.append(f"left after {TIMEOUT_S + GRACE_S} s: {left}")
    complaints += check_survivors(job, case)
    return complaints, took


def dump(job, case, chimera, _):
    """SIGQUIT writes the flight recorder of one rank, which continues."""
    steps = 6
    job.start(chimera, case.action, steps)
    if not job.wait_for_steps(2):
        return ["the run did not start"], None
    os.kill(job.pid(case.victim), signal.SIGQUIT)
    took = job.wait_until_gone(START_S)
    complaints = list(check_flight(job, case.victim, 2))
    codes = [job.code(rank) for rank in range(RANKS)]
    if took is None or codes != [0] * RANKS:
        complaints.append(f"exit codes {codes}, not 0")
    if len(job.metrics()) != steps:
        complaints.append(f"{len(job.metrics())} steps, not {steps}")
    for rank in range(RANKS):
        complaints += error_lines(job, rank)
        if rank != case.victim and job.text(f"run/flight/rank_{rank}.txt"):
            complaints.append(f"rank {rank} wrote its flight too")
    return complaints, took


def run_case(case, repeat, options):
    """True if the case passed. Prints one line, and all logs if it failed."""
    random_numbers = random.Random(f"{case} {repeat}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cf"))
    with contextlib.ExitStack() as stack:
        if not options.keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        network = stack.enter_context(Network()) if case.hosts == 2 else None
        job = Job(folder, network)
        stack.callback(lambda: job.mpirun and job.end())
        attempt = dump if case.fault == "dump" else lose
        complaints, took = attempt(job, case, options.chimera, random_numbers)
        verdict = "FAILED" if complaints else "ok    "
        seconds = "-" if took is None else f"{took:.1f} s"
        print(f"{verdict} {case}: gone after {seconds}", flush=True)
        for complaint in complaints:
            print(f"    {complaint}")
        if complaints:
            job.show()
            print(f"    in {folder}" if options.keep else "", flush=True)
    return not complaints


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def skip_unless_possible():
    for tool in ("mpirun", "ip", "iptables", "unshare"):
        if shutil.which(tool) is None:
            skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        skip("only root can cut links (network namespaces)")
    try:
        with Network():
            pass
    except subprocess.CalledProcessError as error:
        skip(f"no network namespaces here: {error.stderr.decode().strip()}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chimera", type=os.path.abspath)
    parser.add_argument("--all", action="store_true", help="the whole matrix")
    parser.add_argument("--repeats", type=int, default=1,
                        help="of the whole matrix, if more than 1")
    parser.add_argument("--jobs", type=int, default=4, help="cases at once (4)")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="cases whose name has all these")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep all folders")
    return parser.parse_args()


def main():
    options = parse_options()
    whole = options.all or options.only or options.repeats > 1
    cases = [case for case in (all_cases() if whole else COVERING)
             if all(word in str(case) for word in options.only)]
    if options.list:
        print(*cases, sep="\n")
        return
    skip_unless_possible()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends like Ctrl-C
    work = [(case, repeat) for repeat in range(options.repeats)
            for case in cases]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            went_well = list(pool.map(
                lambda item: run_case(*item, options), work))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # running cases clean up
            raise
    print(f"{sum(went_well)} of {len(work)} cases passed")
    sys.exit(0 if all(went_well) and work else 1)


if __name__ == "__main__":
    main()

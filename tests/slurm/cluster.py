"""A real SLURM of two nodes on this machine, in a private directory.

It has private sockets, ports, key and state: a SLURM or munge that is already
running is neither used nor disturbed. All its processes end with it: this
process is their subreaper, so orphans of the daemons become its children, and
it ends them one by one.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NODES = ("n1", "n2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel",
            "scontrol", "sinfo", "mpirun")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)

# The CPUs are fictitious (config_overrides): emulated workers only wait. Each
# node has a private TmpFS, because PMIx of both would use the same names there.
# Without cred_expire and the sched values a job waits up to two minutes.
CONFIG = """
ClusterName=chimera
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=60 OverSubscribe=YES
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} " \
       "CPUs=8 State=UNKNOWN\n"


def missing():
    """Why there can be no cluster here; empty if there can."""
    if os.geteuid() != 0:
        return "only root can start slurmd"
    lost = [program for program in PROGRAMS if not find(program)]
    return "not installed: " + ", ".join(lost) if lost else ""


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") +
                        ":/usr/sbin:/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(what, seconds, ready):
    """Wait for the first true value of ready() and return it."""
    end = time.monotonic() + seconds
    while True:
        value = ready()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.2)


def children_of(parent):
    pids = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        if int(fields[1]) == parent:
            pids.append(int(stat.parent.name))
    return pids


class Cluster:
    def __init__(self):
        self.daemons = []
        # The job's programs run as root, but munge requires a folder that
        # everybody can enter.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="chimera-slurm-"))
        self.folder.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "TMPDIR": str(self.folder),  # leftovers are removed with the folder
            # Both nodes have the same host name, so Open MPI would use shared
            # memory between their processes and its names would clash.
            "OMPI_MCA_btl": "self,tcp",
            "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_pml": "ob1",
            # There are more processes than processors.
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)

    def start(self):
        for name in ("munge", "state", *(f"tmp-{node}" for node in NODES)):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        control_port, *ports = free_ports(1 + len(NODES))
        text = CONFIG.format(host=host, folder=self.folder,
                             control_port=control_port)
        text += "".join(NODE.format(name=name, host=host, port=port)
                        for name, port in zip(NODES, ports))
        (self.folder / "slurm.conf").write_text(text)
        self.start_munge()
        self.daemon("slurmctld", "-D")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node)
        wait_until("two idle nodes", 30, self.is_idle)

    def start_munge(self):
        munge = self.folder / "munge"
        self.daemon("munged", "--foreground", f"--key-file={munge}/key",
                    f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                    f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_until("munge's socket", 10, (munge / "socket").exists)

    def daemon(self, program, *arguments):
        log = open(self.folder / f"{program}{len(self.daemons)}.out", "wb")
        self.daemons.append(subprocess.Popen(
            [find(program), *arguments], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, env=self.environment,
            # The daemons end if this process is killed.
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)))
        log.close()

    def run(self, *command, check=True, **options):
        run = subprocess.run([*map(str, command)], env=self.environment,
                             text=True, capture_output=True, timeout=50,
                             **options)
        if check and run.returncode != 0:
            raise RuntimeError(f"{command}: {run.returncode}: {run.stderr}")
        return run

    def is_idle(self):
        states = self.run("sinfo", "-h", "-N", "-o", "%T", check=False)
        return states.stdout.split() == ["idle"] * len(NODES)

    def submit(self, script, cwd):
        return self.run("sbatch", "--parsable", script, cwd=cwd).stdout.strip()

    def describe(self, job):
        """What SLURM knows of the job, and the ends of its own logs."""
        about = self.run("scontrol", "show", "job", job, check=False)
        return about.stdout + about.stderr + self.logs()

    def state_of(self, job):
        """The JobState, such as RUNNING or COMPLETED."""
        fields = dict(
            field.partition("=")[::2] for field in
            self.run("scontrol", "-o", "show", "job", job).stdout.split())
        return fields["JobState"]

    def wait_for(self, job, seconds):
        """Wait for the end of a job; returns its state."""
        def ended():
            state = self.state_of(job)
            return state if state in (
                "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL",
                "DEADLINE", "OUT_OF_MEMORY") else ""
        return wait_until(f"the end of job {job}", seconds, ended)

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text()[-2000:]}"
                         for path in sorted(self.folder.glob("*.log")))

    def stop(self):
        """End every process, then remove the directory."""
        for late in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(late, signal.SIG_IGN)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.end_orphans()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_orphans(self):
        """End job steps, which outlive slurmd and are now children of this
        process."""
        while orphans := children_of(os.getpid()):
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

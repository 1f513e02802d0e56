#!/usr/bin/env python3
"""Tests the batch scripts that `chimera init slurm` writes.

usage: slurm_script_test.py CHIMERA_BINARY
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from program import CHIMERA, ROOT, Base


class InitSlurm(Base):
    RUN = """
        [model]
        kind = "emulated"
        forward_ms = [1]
        input_grad_ms = [1]
        weight_grad_ms = [1]
        [schedule]
        depth = 4
        micros = 4
        micro_batch = 1
        width = 2
        [train]
        steps = 3
        """

    def script(self, *flags, name="run.toml"):
        return self.ok("init", "slurm", "-c", self.file(name, self.RUN), *flags)

    @staticmethod
    def options(script):
        return dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script, re.M))

    def arguments(self, script, job):
        """The arguments that srun gets when bash runs the script."""
        self.file("srun", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").chmod(0o755)
        run = subprocess.run(
            ["bash"], input=script, text=True, capture_output=True, check=True,
            env={"PATH": f"{self.folder}:/usr/bin:/bin", "SLURM_NTASKS": "8",
                 "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]",
                 "SLURM_CPUS_PER_TASK": "3", **job})
        return run.stdout.splitlines()

    def test_the_header_is_what_the_run_needs(self):
        script = self.script("--nodes", 2, "--time", "1-02:00:00",
                             "--partition", "big", "--account", "me",
                             "--signal-s", 300, "--set", "train.threads=6")
        self.assertTrue(script.startswith("#!/bin/bash\n"))
        self.assertEqual(self.options(script), {
            "job-name": "run", "partition": "big", "account": "me",
            "nodes": "2", "ntasks": "8", "ntasks-per-node": "4",
            "distribution": "block", "cpus-per-task": "6",
            "time": "1-02:00:00", "signal": "USR1@300",
            "open-mode": "append", "output": "%x-%j.log"})
        # sbatch ignores options after the first command.
        self.assertNotIn("#SBATCH", script[script.index("\nset -eu"):])
        options = self.options(self.script())
        self.assertEqual((options["nodes"], options["cpus-per-task"]),
                         ("1", "1"))
        self.assertNotIn("time", options)

    def test_the_command_is_that_of_the_run(self):
        path = self.folder / "run.toml"
        echo, *arguments = self.arguments(
            self.script("--set", "train.steps=7"), {"SLURM_JOB_ID": "12"})
        self.assertIn("8 workers on 2 nodes (n[1-2])", echo)
        self.assertEqual(arguments, [
            "--mpi=pmix", "--kill-on-bad-exit=1", "--cpus-per-task=3", CHIMERA,
            "train", "-c", str(path), "--set", "train.steps=7", "--set",
            "train.threads=3", "--run-dir", "runs/run-12", "--resume"])

    def requeues(self, before, srun):
        """True if the script requeues its job, with `before` in state.json at
        its start and the shell command `srun` in place of the run."""
        run_dir = self.folder / "mine-12"
        run_dir.mkdir(exist_ok=True)
        (run_dir / "state.json").write_text(before)
        self.file("scontrol", "#!/bin/sh\necho scontrol \"$@\"\n").chmod(0o755)
        self.file("srun", f"#!/bin/sh\ncd '{run_dir}'\n{srun}\n").chmod(0o755)
        script = self.script("--set", f"run.dir={self.folder}/mine")
        run = subprocess.run(
            ["bash"], input=script, text=True, capture_output=True,
            env={"PATH": f"{self.folder}:/usr/bin:/bin", "SLURM_NTASKS": "8",
                 "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]",
                 "SLURM_CPUS_PER_TASK": "3", "SLURM_JOB_ID": "12"})
        self.assertEqual(run.stderr, "")
        return "scontrol requeue 12" in run.stdout, run.returncode

    def test_only_what_this_start_saved_is_requeued(self):
        saved, done = ('{"state":"%s","step":5,"exit":%d}\n' % state
                       for state in [("saved", 75), ("done", 0)])
        self.assertEqual(self.requeues(saved, "exit 3"), (False, 3))
        self.assertEqual(self.requeues(saved, f"echo '{done}' >state.json"),
                         (False, 0))
        self.assertEqual(
            self.requeues(done, f"echo '{saved}' >state.json; exit 75"),
            (True, 0))

    def test_odd_names_survive_the_shell(self):
        odd = """it's "a" $HOME `x` \\ *"""
        script = self.script("--set", "run.dir=" + odd, name=odd + ".toml")
        self.assertRegex(self.options(script)["job-name"], r"^[\w.-]+$")
        arguments = self.arguments(script, {"SLURM_JOB_ID": "12"})
        self.assertIn(str(self.folder / (odd + ".toml")), arguments)
        self.assertIn("run.dir=" + odd, arguments)
        self.assertEqual(arguments[-2], odd + "-12")
        self.shellcheck(script)

    def shellcheck(self, script):
        if not shutil.which("shellcheck"):
            return  # ./dev lint installs it and checks examples/slurm
        run = subprocess.run(["shellcheck", "-"], input=script, text=True,
                             capture_output=True)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_a_file_can_be_run(self):
        path = self.folder / "job.sh"
        self.assertEqual(self.script("-o", path), "")
        self.assertTrue(os.access(path, os.X_OK))
        self.assertEqual(path.read_text(), self.script())

    def test_every_run_of_the_paper_has_a_job(self):
        subprocess.run([ROOT / "examples/slurm/make_jobs.sh", CHIMERA,
                        self.folder], check=True)
        jobs = {path.stem: path.read_text() for path in
                self.folder.glob("*.sh")}
        for name, job in jobs.items():
            copies, depth = re.search(r"_(\d+)w(\d+)d", name).groups()
            # One per node, as in the script.
            tasks = str(int(copies) * int(depth))
            options = self.options(job)
            self.assertEqual((options["ntasks"], options["nodes"]),
                             (tasks, tasks), name)
        listed = (ROOT / "examples/slurm/README.md").read_text()
        self.assertIn(f"all {len(jobs)}, into", listed)

    def test_every_mistake_at_once(self):
        codes, text = self.refused(
            "init", "slurm", "-c", self.file("run.toml", self.RUN), "--nodes",
            3, "--time", "10", "--partition", "a b", "--signal-s", 0, "--node",
            "--set", "run.transport=threads")
        self.assertEqual(codes, ["E401", "E403", "E409", "E409", "E410",
                                 "E408"])
        self.assertIn("use 2 or 4", text)
        self.assertIn("did you mean --nodes?", text)
        codes, _ = self.refused(
            "init", "slurm", "-c", self.file("run.toml", self.RUN), "--time",
            "00:02:00", "--set", "schedule.depht=4", "--set", "train.steps=x")
        self.assertEqual(codes, ["E406", "E005", "E007"])

    def test_the_schedule_must_hold(self):
        for override, code in [("schedule.depth=5", "E202"),
                               ("schedule.scheme=chimra", "E201"),
                               ("model.forward_ms=[1, 2]", "E563"),
                               ("schedule.width=1000000", "E209"),
                               ("schedule.cap=1", "E320")]:
            codes, _ = self.refused(
                "init", "slurm", "-c", self.file("run.toml", self.RUN),
                "--set", override)
            self.assertEqual(set(codes), {code}, override)

    def test_ties_of_a_model_to_be_read_are_left_to_the_run(self):
        """Only the model's directory says whether weights are tied, and it may
        be elsewhere."""
        def refused(*flags):
            return self.refused("init", "slurm", "-c", config, *flags)[0]
        for flags, wrong in ([], "true"), (["--tied"], "false"):
            path = self.file("lowered.sched", self.ok(
                "schedule", "1f1b", "--depth", 4, "--micros", 4, "--lowered",
                "--format", "sched", *flags))
            config = self.file("hf.toml", f"""
                [model]
                kind = "gpt2"
                init = "nowhere"
                [schedule]
                file = "{path}"
                micro_batch = 1
                [train]
                steps = 3
                lr = 1e-3
                [data]
                path = "text.txt"
                """)
            script = self.ok("init", "slurm", "-c", config)
            self.assertEqual(self.options(script)["ntasks"], "4")
            self.assertEqual(refused("--set", "model.tie_embeddings=" + wrong),
                             ["E570"])
        config = self.file("run.toml", self.RUN.replace("width = 2", ""))
        self.assertEqual(refused("--set", f'schedule.file="{path}"'), ["E570"])

    def test_a_working_directory_that_is_gone(self):
        path = self.file("run.toml", self.RUN)
        run = subprocess.run(
            ["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"',
             tempfile.mkdtemp(), CHIMERA, "init", "slurm", "-c", path],
            text=True, capture_output=True)
        self.assertEqual((run.returncode, run.stdout), (8, ""), run.stderr)
        self.assertRegex(run.stderr, "^error: .*No such file or directory")

    def test_something_is_missing(self):
        self.assertEqual(self.refused("init")[0], ["E402", "E402"])
        self.assertEqual(self.refused("init", "slurm")[0], ["E402"])
        self.assertEqual(self.refused("init", "slrm")[0], ["E404", "E402"])
        self.assertEqual(self.refused("init", "slurm", "-c",
                                      self.folder / "no")[0], ["E405"])


if __name__ == "__main__":
    unittest.main()

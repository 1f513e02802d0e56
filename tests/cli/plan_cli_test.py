#!/usr/bin/env python3
"""Tests `chimera plan` as a script outside the project sees it.

usage: plan_cli_test.py CHIMERA_BINARY
"""
import functools
import json
import pathlib
import re
import tempfile
import unittest

from program import ROOT, Base, chimera, profile

OUT = tempfile.TemporaryDirectory()


@functools.cache
def answer(*args):
    """The answer to a request that several tests look at; made once."""
    return chimera(*args)


class Plan(Base):
    ASKED = ["plan", "--model", "bert-48", "--workers", 8, "--batch", 32,
             "--memory", "16GB"]
    FIELDS = {"scheme", "depth", "width", "pipes", "scale", "chunks", "shape",
              "micro_batch", "micros", "recompute", "sync", "step_s",
              "bubble_ratio", "peak_bytes", "losses"}

    def plans(self, *more):
        run = answer(*self.ASKED, "--format", "json", *more)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)["plans"]

    def path_of(self, name):
        """Where one request for all tests writes its run."""
        return pathlib.Path(OUT.name) / name

    def test_json_is_the_contract(self):
        plans = self.plans("-o", self.path_of("planned.toml"))
        times = [plan["step_s"] for plan in plans]
        self.assertEqual(times, sorted(times))
        for plan in plans:
            self.assertLessEqual(self.FIELDS, set(plan))
            self.assertEqual(plan["width"] * plan["depth"], 8)
            self.assertEqual(
                plan["width"] * plan["micros"] * plan["micro_batch"], 32)
            self.assertLessEqual(plan["peak_bytes"], 16e9)
            self.assertLessEqual({"bubble", "message", "sum", "recompute",
                                  "memory"}, set(plan["losses"]))

    def test_text_names_profile_winner_and_losses(self):
        text = answer(*self.ASKED).stdout
        self.assertIn("p100 (built in, the default)", text)
        self.assertIn("block times: bert-large", text)
        self.assertRegex(text, r"best +\w")
        self.assertRegex(text, r"(idle|sum|message) [+]\d")

    def test_text_has_size_speed_and_what_is_missing(self):
        text = answer(*self.ASKED).stdout
        self.assertIn("bert-48, 669.79M parameters, on 8 workers", text)
        found = re.search(r"step +([\d.]+) s, ([\d.]+) samples/s, bubble ", text)
        tokens, share = re.search(
            r"([\d.]+)k tokens/s, .* \(MFU ([\d.]+) % of 9.3\)", text).groups()
        self.assertAlmostEqual(float(tokens) * 1e3, 128 * float(found[2]),
                               delta=60)
        # 6 operations for each parameter of a block and token, at least.
        least = 6 * 48 * 12 * 1024 ** 2 * 128 * float(found[2]) / 8 / 9.3e12
        self.assertTrue(1 <= float(share) / (100 * least) < 1.3, (share, least))
        self.assertRegex(text, r"Not in the table:\n(  .*\n)*  pipedream, "
                         "pipedream-2bw: trains with stale weights")
        text = self.ok("plan", "--model", "bert-48", "--workers", 8, "--batch",
                       32, "--memory", "2GB")
        self.assertRegex(text, r"(?m)^  .*gems.*: no layout fits the memory$")
        self.assertEqual(len(re.findall(r"bubble \+|\+ bubble", text)), 0)

    def test_the_profile_of_the_documents_is_twenty_lines_and_plans(self):
        text = (ROOT / "docs/profiles.md").read_text()
        mine = re.search(r"```toml\n(.*?)```", text, re.S)[1]
        self.assertLessEqual(len(mine.splitlines()), 20)
        path = self.folder / "mine.toml"
        path.write_text(mine)
        plan = self.ok("plan", "--model", "llama-1b", "--workers", 8, "--batch",
                       32, "--memory", "48GB", "--precision", "bf16",
                       "--profile", path)
        self.assertIn("nodes     4 workers each", plan)
        self.assertIn("block times: block, scaled by FLOPs", plan)

    def test_nodes_decide_which_links_count(self):
        def asked(ranks):
            return ["--model", "llama-1b", "--profile", "h100",
                    "--ranks-per-node", ranks]

        def step_s(ranks):
            return json.loads(self.ok(
                "simulate", "1f1b", "--depth", 8, "--micros", 8, "--width", 2,
                *asked(ranks), "--format", "json"))["makespan"]

        self.assertLess(step_s(16), step_s(8))
        self.assertLess(step_s(8), step_s(4))
        self.assertLess(step_s(4), step_s(1))
        # Copies of eight workers on two nodes of eight: in turns, the copies of
        # a worker share a node and its messages leave it.
        in_turns = json.loads(self.ok(
            "simulate", "1f1b", "--depth", 8, "--micros", 8, "--width", 2,
            *asked(8), "--distribution", "cyclic", "--format",
            "json"))["makespan"]
        self.assertLess(in_turns, step_s(8))
        text = self.ok("plan", *asked(4), "--distribution", "cyclic",
                       "--workers", 8, "--batch", 8, "--schemes", "1f1b")
        self.assertIn("nodes     4 workers each, dealt out in turns (srun "
                      "--distribution=cyclic, mpirun --map-by node); links",
                      text)
        text = self.ok("plan", *asked(4), "--workers", 8, "--batch", 8,
                       "--schemes", "1f1b")
        self.assertIn("nodes     4 workers each; links 5 us, 360 GB/s within a "
                      "node, 10 us, 40 GB/s between\n", text)

    def test_simulate_tells_what_the_machine_has_not(self):
        asked = ["simulate", "1f1b", "--depth", 2, "--micros", 8, "--model",
                 "bert-48", "--micro-batch", 32]
        run = chimera(*asked, "--profile", "p100")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stderr, r"^warning: worker 0 needs [\d.]+ GB, but "
                         r"the profile's machine has 16.00 GB for a worker")
        self.assertEqual(chimera("simulate", "1f1b", "--depth", 8, "--micros",
                                 8, "--model", "bert-48", "--profile",
                                 "p100").stderr, "")

    def test_the_run_it_writes_has_the_plans_schedule(self):
        path = self.path_of("planned.toml")
        best = self.plans("-o", path)[0]
        again = self.ok("simulate", best["scheme"], "--depth", best["depth"],
                        "--micros", best["micros"], "--pipes", best["pipes"],
                        "--scale", best["scale"], "--chunks", best["chunks"],
                        "--shape", best["shape"], "--format", "json")
        self.assertTrue(json.loads(again)["makespan"] > 0)
        text = path.read_text()
        for key in ("depth", "micros", "micro_batch", "width", "pipes"):
            self.assertIn(f"{key} = {best[key]}\n", text)
        self.assertIn("cut = [0, ", text)
        self.assertEqual(
            json.loads(self.ok("plan", "--model", path, "--workers", 8,
                               "--batch", 32, "--memory", "16GB", "--profile",
                               "p100", "--format", "json"))["plans"][0], best)

    def test_simulate_says_what_plan_says(self):
        path = self.path_of("order.toml")
        best = self.plans("--schemes", "chimera-zero", "-o", path)[0]
        step = best["step_s"]
        run = self.ok("simulate", "--model", path, "--profile", "p100",
                      "--format", "json")
        self.assertAlmostEqual(json.loads(run)["makespan"] / step, 1, places=9)
        self.assertIsInstance(best["recompute"], bool)  # so it can be typed
        cap = ["--cap", best["cap"]] if "cap" in best else []
        recompute = ["--recompute"] if best["recompute"] else []
        typed = self.ok(
            "simulate", best["scheme"], "--depth", best["depth"], "--micros",
            best["micros"], "--width", best["width"], "--pipes", best["pipes"],
            "--chunks", best["chunks"], "--shape", best["shape"], "--sync",
            best["sync"], "--micro-batch", best["micro_batch"], *cap,
            *recompute, "--model", "bert-48", "--profile", "p100", "--format",
            "json")
        self.assertLessEqual(
            abs(json.loads(typed)["makespan"] / step - 1), 0.005)

    def test_copies_of_the_model_are_data_parallel_and_told_once(self):
        plans = json.loads(self.ok(
            "plan", "--model", "gpt2-tiny", "--workers", 2, "--batch", 8,
            "--profile", "p100", "--format", "json"))["plans"]
        copies = [plan for plan in plans if plan["depth"] == 1]
        self.assertEqual([plan["name"] for plan in copies], ["data parallel"])

    def test_every_shape_of_planned_orders_is_tried(self):
        plans = json.loads(self.ok(
            "plan", "--model", "gpt2-64", "--workers", 2048, "--batch", 2048,
            "--memory", "16GB", "--profile", "p100", "--format",
            "json"))["plans"]
        planned = [plan for plan in plans if plan["scheme"] == "planned"][0]
        self.assertLess(planned["step_s"], 2.93)

    def test_a_planned_order_comes_along(self):
        path = self.path_of("order.toml")
        best = self.plans("--schemes", "chimera-zero", "-o", path)[0]
        self.assertEqual(best["scheme"], "planned")
        order = self.path_of("order.sched")
        self.assertIn('file = "order.sched"\n', path.read_text())
        self.ok("check", order)

    def test_schemes_and_formula(self):
        names = [plan["name"] for plan in
                 self.plans("--schemes", "dapple,pipedream-2bw,gems",
                            "--model-of", "paper")]
        self.assertEqual(sorted(names), ["1f1b", "data parallel", "gems",
                                         "pipedream-2bw"])

    def test_a_profile_file(self):
        path = self.file("p.toml", profile([1, 64]))
        self.assertIn("block times: block",
                      self.ok(*self.ASKED, "--profile", path, "--schemes",
                              "1f1b"))
        codes, text = self.refused(*self.ASKED, "--profile",
                                   self.file("q.toml", "[lnik]\n"))
        self.assertEqual(codes, ["E004", "E020", "E020"])
        self.assertIn("q.toml:1", text)
        empty = path.read_text().replace("forward_ms = [1, 64]",
                                         "forward_ms = []")
        codes, text = self.refused(*self.ASKED, "--profile",
                                   self.file("r.toml", empty))
        self.assertEqual(codes, ["E010"], text)

    def test_what_the_run_could_not_do_is_not_planned(self):
        run = self.file("run.toml", """
[model]
preset = "bert-48"
[schedule]
depth = 4
micros = 4
micro_batch = 1
[train]
steps = 1
lr = 1e-3
clip = 1.0
[data]
path = "x.bin"
""")
        codes, text = self.refused("plan", "--model", run, "--workers", 8,
                                   "--batch", 32, "--schemes", "pipedream")
        self.assertEqual(codes, ["E603"], text)
        self.assertIn("train.clip = 0", text)

    def test_impossible_requests_name_the_nearest(self):
        def asked(*args):
            return self.refused("plan", "--model", "gpt2-64", *args)
        codes, text = asked("--workers", 2048, "--batch", 100)
        self.assertEqual(codes, ["E610"])
        self.assertRegex(text, r"use --batch \d+ or --workers \d+")
        codes, text = asked("--workers", 8, "--batch", 8, "--memory", "1GB")
        self.assertEqual(codes, ["E611"])
        memory = re.search(r"--memory (\w+)", text)[1]
        self.ok("plan", "--model", "gpt2-64", "--workers", 8, "--batch", 8,
                "--memory", memory)

    def test_every_mistake_at_once(self):
        codes, _ = self.refused("plan", "--model", "gpt2-46", "--workers", 0,
                                "--memory", "16 apples", "--profile", "nope",
                                "--model-of", "guess", "--frmat=json")
        self.assertEqual(sorted(codes), ["E401", "E402", "E403", "E403",
                                         "E404", "E405", "E405"])


if __name__ == "__main__":
    unittest.main()

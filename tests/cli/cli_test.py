#!/usr/bin/env python3
"""Tests the command line as a script outside the project sees it.

usage: cli_test.py CHIMERA_BINARY
"""
import csv
import io
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree

from program import CHIMERA, ROOT, Base, chimera, profile

EMULATED = """[model]
kind = "emulated"
forward_ms = 10
input_grad_ms = 10
weight_grad_ms = 10
boundary_bytes = 1000000
[schedule]
scheme = "1f1b"
depth = 4
micros = 8
micro_batch = 1
[train]
steps = 3
"""


class Schedule(Base):
    LAYOUT = ["chimera", "--depth", 4, "--micros", 4]

    def test_json_is_the_contract(self):
        data = json.loads(self.ok("schedule", *self.LAYOUT, "--format", "json"))
        self.assertEqual(
            {k: v for k, v in data.items() if k != "actions"},
            {"format": "chimera-schedule-1", "scheme": "chimera", "depth": 4,
             "micros": 4, "pipes": 2, "stages": 4, "workers": 4, "width": 1,
             "parts": 1, "placement": [[0, 1, 2, 3], [3, 2, 1, 0]]})
        self.assertEqual(data["actions"][0][0],
                         {"op": "F", "pipe": 0, "stage": 0, "micro": 0})
        first = [f'{a["stage"]}{a["op"]}{a["micro"]}' for a in data["actions"][0]]
        self.assertEqual(
            first, "0F0 0F1 3F2 3B2 3F3 3B3 0B0 0B1".split())

    def test_lowered_json_has_messages_groups_vote_and_updates(self):
        data = json.loads(self.ok("schedule", *self.LAYOUT, "--lowered",
                                  "--recompute", "--format", "json"))
        ops = {a["op"] for row in data["actions"] for a in row}
        self.assertEqual(ops, {"F", "B", "R", "RF", "RB", "SF", "SB", "G", "N",
                               "U"})
        self.assertEqual(data["groups"][1], {
            "id": 1, "members": [{"pipe": 0, "stage": 1},
                                 {"pipe": 1, "stage": 1}]})
        for row in data["actions"]:
            for a in row:
                self.assertEqual("peer" in a, a["op"] in ("RF", "RB", "SF", "SB"))
                self.assertEqual("group" in a, a["op"] == "G")

    def test_halving_has_parts_and_pipedream_steps(self):
        data = json.loads(self.ok("schedule", *self.LAYOUT, "--scale",
                                  "halving", "--format", "json"))
        self.assertEqual(data["parts"], 2)
        parts = [a.get("part", 0) for row in data["actions"] for a in row
                 if a["op"] == "B"]
        self.assertEqual(sorted(parts), [0] * 16 + [1] * 16)
        data = json.loads(self.ok("schedule", "pipedream", "--depth", 4,
                                  "--micros", 1, "--format", "json"))
        self.assertEqual([(a["op"], a.get("step", 0))
                          for a in data["actions"][0]],
                         [("F", 0), ("B", -3), ("U", -3)])
        self.assertEqual([(a["op"], a.get("step", 0))
                          for a in data["actions"][3]],
                         [("F", 0), ("B", 0), ("U", 0)])

    def test_csv_has_one_row_a_worker(self):
        rows = list(csv.reader(io.StringIO(
            self.ok("schedule", *self.LAYOUT, "--format", "csv"))))
        self.assertEqual(rows[0], "0F0 0F1 3F2@1 3B2@1 3F3@1 3B3@1 0B0 0B1".split())

    def test_every_form_of_every_scheme_is_read_back(self):
        schemes = json.loads(self.ok("schemes", "--format", "json"))["schemes"]
        self.assertEqual(len(schemes), 19)
        for scheme in schemes:
            for form in ("json", "sched", "csv"):
                for extra in ([], ["--lowered"]):
                    args = [scheme["name"], "--depth", 4, "--micros", 8]
                    text = self.ok("schedule", *args, *extra, "--format", form)
                    path = self.file("a." + form, text)
                    self.assertIn("ok: ", self.ok("check", path))
                    json_text = self.ok("schedule", *args, *extra, "--format",
                                        "json")
                    simulated = self.ok("simulate", "--schedule", path,
                                        "--format", "json")
                    again = self.file("b.json", json_text)
                    self.assertEqual(simulated, self.ok(
                        "simulate", "--schedule", again, "--format", "json"))

    def test_alias_is_stored_as_the_canonical_name(self):
        self.assertIn('"scheme":"1f1b"', self.ok(
            "schedule", "dapple", "--depth", 2, "--micros", 2, "--format",
            "json"))

    def test_output_file_appears_whole_or_not_at_all(self):
        path = self.folder / "a.svg"
        self.assertEqual(self.ok("schedule", *self.LAYOUT, "--format", "svg",
                                 "-o", path), "")
        xml.etree.ElementTree.parse(path)
        run = chimera("schedule", *self.LAYOUT, "-o",
                      self.folder / "none" / "a.txt")
        self.assertEqual(run.returncode, 8, run.stderr)
        run = chimera("schedule", *self.LAYOUT, "-o", "/dev/full")
        self.assertEqual(run.returncode, 8, run.stderr)
        run = chimera("schedule", *self.LAYOUT, "-o", self.folder)
        self.assertEqual(run.returncode, 8, run.stderr)
        self.assertEqual(os.listdir(self.folder), ["a.svg"])

    def test_output_follows_links_keeps_modes_and_takes_pipes(self):
        target = self.file("target", "old")
        target.chmod(0o640)
        link = self.folder / "link"
        link.symlink_to(target)
        self.ok("schedule", *self.LAYOUT, "-o", link)
        self.assertTrue(link.is_symlink())
        self.assertIn("makespan 16", target.read_text())
        self.assertEqual(target.stat().st_mode & 0o777, 0o640)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
        self.ok("schedule", *self.LAYOUT, "-o", pipe)
        self.assertIn(b"makespan 16", reader.communicate(timeout=20)[0])
        self.assertIn("makespan 16",
                      self.ok("schedule", *self.LAYOUT, "-o", "-"))

    def test_a_file_gets_no_colour_even_from_a_terminal(self):
        path = self.folder / "a.txt"
        command = f"{CHIMERA} schedule gpipe --depth 2 --micros 2 -o {path}"
        subprocess.run(["script", "-qc", command, "/dev/null"], check=True,
                       capture_output=True)
        self.assertNotIn("\x1b", path.read_text())

    def test_not_a_terminal_means_no_colour(self):
        self.assertNotIn("\x1b", self.ok("schedule", *self.LAYOUT))


class Simulate(Base):
    def test_json_is_the_contract(self):
        data = json.loads(self.ok("simulate", "1f1b", "--depth", 8, "--micros",
                                  8, "--format", "json"))
        self.assertEqual((data["makespan"], data["ideal"]), (45, 24))
        self.assertAlmostEqual(data["bubble_ratio"], 21 / 45)
        self.assertEqual(data["workers"][7], {
            "busy": 24, "idle": 21, "first": 7, "last": 31,
            "peak_activations": 1, "peak_bytes": None})

    def test_time_flags(self):
        def makespan(*flags):
            return json.loads(self.ok("simulate", "zb-h1", "--depth", 4,
                                      "--micros", 8, "--format", "json",
                                      *flags))["makespan"]
        self.assertEqual(makespan(), 27)
        self.assertEqual(makespan("--forward", 2, "--backward", 4), 54)
        # 3N + (D-1)(F+I-W)
        self.assertEqual(makespan("--weight-grad", 0.5), 30)

    def simulated(self, *flags):
        return json.loads(self.ok("simulate", *flags, "--format", "json"))

    def test_a_model_on_a_machine(self):
        layout = ["chimera", "--depth", 4, "--micros", 8, "--model", "bert-48"]
        one = self.simulated(*layout)
        eight = self.simulated(*layout, "--micro-batch", 8)
        for worker, more in zip(one["workers"], eight["workers"]):
            self.assertGreater(more["peak_bytes"], worker["peak_bytes"])
        self.assertGreater(eight["makespan"], one["makespan"])
        self.assertLess(self.simulated(*layout, "--micro-batch", 8,
                                       "--recompute")["workers"][0]["peak_bytes"],
                        eight["workers"][0]["peak_bytes"])
        self.assertLess(self.simulated(*layout, "--profile", "v100")["makespan"],
                        one["makespan"])
        self.assertIn("MB", self.ok("simulate", *layout))

    def test_jitter_and_seed_need_no_profile(self):
        def expected(*flags):
            return json.loads(self.ok(
                "simulate", "chimera", "--depth", 4, "--micros", 8, "--format",
                "json", *flags)).get("expected", 30)  # the makespan
        first = expected("--jitter", 0.1)
        self.assertGreater(first, 1.01 * expected())
        self.assertEqual(first, expected("--jitter", 0.1, "--seed", 0))
        other = expected("--jitter", 0.1, "--seed", 1)
        self.assertNotEqual(first, other)
        self.assertAlmostEqual(other / first, 1, delta=0.03)
        self.assertLess(expected("--jitter", 0.05), first)
        steps = json.loads(self.ok(
            "simulate", "chimera", "--depth", 4, "--micros", 8, "--format",
            "json", "--steps", 4, "--jitter", 0.1))
        self.assertGreater(steps["expected_period"], 1.01 * steps["period"])
        codes, _ = self.refused("simulate", "chimera", "--depth", 4,
                                "--micros", 8, "--jitter", 2)
        self.assertEqual(codes, ["E403"])

    def test_expected_periods_count_enough_full_steps(self):
        # All but two of 14 steps drain this pipeline.
        deep = json.loads(self.ok(
            "simulate", "pipedream", "--depth", 32, "--micros", 1, "--steps",
            14, "--jitter", 0.3, "--format", "json"))
        self.assertGreater(deep["expected_period"], 1.1 * deep["period"])
        # Expected periods take twelve steps, however few are asked for.
        self.assertEqual(self.refused(
            "simulate", "gpipe", "--depth", 64, "--micros", 31000, "--steps",
            2, "--jitter", 0.05)[0], ["E209"])

    def test_jitter_says_what_to_expect(self):
        layout = ["1f1b", "--depth", 2, "--micros", 8, "--model", "bert-48",
                  "--profile"]
        host = "cores = 2\nthreads = 1\n"
        steady = self.simulated(*layout, self.file("s.toml", profile(machine=host)))
        self.assertNotIn("expected", steady)
        path = self.file("j.toml",
                         profile(machine=host + "jitter = 0.1"))
        varying = self.simulated(*layout, path)
        self.assertEqual(varying["makespan"], steady["makespan"])
        self.assertGreater(varying["expected"], 1.01 * steady["makespan"])
        self.assertEqual(varying, self.simulated(*layout, path))
        self.assertIn("vary by 10.0 %", self.ok("simulate", *layout, path))

    def test_the_papers_formula_stands_beside(self):
        # Not the P100, whose slow messages the formula never hides.
        layout = ["--depth", 4, "--micros", 8, "--model", "bert-48",
                  "--profile", "v100"]
        data = self.simulated("1f1b", *layout)
        self.assertLess(abs(data["paper"] / data["period"] - 1), 0.05)
        self.assertIn("paper's form", self.ok("simulate", "1f1b", *layout))
        self.assertNotIn("paper", self.simulated("zb-h1", *layout))

    def test_what_a_run_will_take(self):
        """Simulating the run.toml that plan writes gives the planned figures.
        """
        path = self.folder / "judged.toml"
        for schemes in ("chimera", "planned", "1f1b,zb-h1"):
            run = chimera(
                "plan", "--model", "bert-48", "--workers", 8, "--batch", 32,
                "--memory", "16GB", "--profile", "p100", "--schemes", schemes,
                "--format", "json", "-o", path)
            self.assertEqual(run.returncode, 0, run.stderr)
            best = json.loads(run.stdout)["plans"][0]
            again = self.simulated("--model", path, "--profile", "p100")
            self.assertAlmostEqual(again["makespan"], best["step_s"], places=9)
            # Workers as threads need no receive buffers.
            peak = max(worker["peak_bytes"] for worker in again["workers"])
            self.assertLessEqual(peak, best["peak_bytes"])
            self.assertGreater(peak, 0.9 * best["peak_bytes"])

    def test_an_emulated_run(self):
        path = self.folder / "emulated.toml"
        path.write_text('[model]\nkind = "emulated"\nforward_ms = 10\n'
                        'input_grad_ms = 10\nweight_grad_ms = 10\n'
                        '[schedule]\nscheme = "1f1b"\ndepth = 8\nmicros = 8\n'
                        'micro_batch = 1\n')
        data = self.simulated("--model", path)
        self.assertAlmostEqual(data["makespan"], 0.45)
        self.assertIsNone(data["workers"][0]["peak_bytes"])

    def test_a_model_needs_a_schedule_and_no_times(self):
        codes, _ = self.refused("simulate", "--model", "bert-48")
        self.assertEqual(codes, ["E402"])
        codes, _ = self.refused("simulate", "1f1b", "--depth", 4, "--micros", 4,
                                "--model", "bert-48", "--forward", 2)
        self.assertEqual(codes, ["E406"])
        codes, text = self.refused("simulate", "1f1b", "--depth", 64, "--micros",
                                   4, "--model", "bert-48")
        self.assertEqual(len(codes), 1, text)

    def test_p2p_slope_of_chimera(self):
        """With a small delay c per hop and N = D, the makespan grows by (3D -
        5) c."""
        for depth in (4, 8, 16):
            def makespan(p2p):
                return json.loads(self.ok(
                    "simulate", "chimera", "--depth", depth, "--micros", depth,
                    "--p2p", p2p, "--format", "json"))["makespan"]
            slope = (makespan(0.001) - makespan(0)) / 0.001
            self.assertAlmostEqual(slope, 3 * depth - 5, places=5)

    def test_allreduce_is_free_with_one_holder(self):
        def makespan(scheme, *flags):
            return json.loads(self.ok("simulate", scheme, "--depth", 4,
                                      "--micros", 4, "--format", "json",
                                      *flags))["makespan"]
        self.assertEqual(makespan("1f1b", "--allreduce", 5), 21)
        self.assertEqual(makespan("1f1b", "--allreduce", 5, "--width", 2), 26)
        eager = makespan("chimera", "--allreduce", 1)
        end = makespan("chimera", "--allreduce", 1, "--sync", "end")
        self.assertLess(eager, end)

    def test_cores_are_shared_equally(self):
        """Two independent halves of the work on one core take twice as long."""
        def simulate(*flags):
            return json.loads(self.ok("simulate", "gpipe", "--depth", 1,
                                      "--micros", 4, "--format", "json",
                                      *flags))["makespan"]
        self.assertEqual(simulate(), 12)
        self.assertEqual(simulate("--width", 3, "--cores", 1), 36)
        self.assertEqual(simulate("--width", 3, "--cores", 3), 12)
        data = json.loads(self.ok("simulate", "chimera", "--depth", 4,
                                  "--micros", 4, "--cores", 2, "--format",
                                  "json"))
        self.assertEqual(data["bound"], 24)

    def test_steps_have_no_barrier(self):
        data = json.loads(self.ok("simulate", "zb-h2", "--depth", 4, "--micros",
                                  8, "--steps", 5, "--format", "json"))
        self.assertEqual(data["period"], 24)

    def test_trace_is_chrome_json_without_overlaps(self):
        events = json.loads(self.ok(
            "simulate", "chimera", "--depth", 4, "--micros", 8, "--p2p", 0.5,
            "--allreduce", 1, "--format", "trace"))
        tracks = {}
        for e in events:
            if e["ph"] == "X":
                tracks.setdefault((e["pid"], e["tid"]), []).append(
                    (e["ts"], e["ts"] + e["dur"]))
        self.assertGreater(len(tracks), 8)
        for intervals in tracks.values():
            intervals.sort()
            for (_, end), (start, _) in zip(intervals, intervals[1:]):
                self.assertLessEqual(end, start + 1e-6)
        arrows = [e for e in events if e["ph"] in "sf"]
        messages = [e for e in events
                    if e["ph"] == "X" and e["cat"] in ("SF", "SB")]
        self.assertEqual(len(arrows), 2 * len(messages))


class Refusals(Base):
    def test_half_a_sample_cannot_be_simulated(self):
        codes, text = self.refused("simulate", "chimera", "--depth", 4,
                                   "--micros", 4, "--scale", "halving",
                                   "--model", "bert-48")
        self.assertEqual(codes, ["E562"])
        self.assertIn("--micro-batch 2", text)

    def test_every_mistake_at_once(self):
        codes, text = self.refused(
            "schedule", "chimera", "--depth", 5, "--micros", 0, "--pipes", 3,
            "--scale", "halfing", "--chunks", 2, "--dept", "--format", "pdf")
        self.assertEqual(sorted(codes), ["E202", "E203", "E204", "E205", "E401",
                                         "E404", "E404"])
        self.assertIn("use 4 or 6", text)
        self.assertIn('did you mean "halving"?', text)
        self.assertIn("did you mean --depth?", text)

    def test_unknown_scheme_offers_the_nearest(self):
        codes, text = self.refused("simulate", "chimra", "--depth", 4,
                                   "--micros", 4)
        self.assertEqual(codes, ["E201"])
        self.assertIn('did you mean "chimera"?', text)

    def test_illegal_layouts_name_the_nearest_legal_values(self):
        for args, hint in [
            (["interleaved", "--depth", 4, "--micros", 6], "use 4 or 8"),
            (["chimera", "--depth", 12, "--micros", 4, "--pipes", 8],
             "use 2, 4, 6, 12"),
            (["zb-h2", "--depth", 4, "--micros", 6], "use 7 or more"),
            (["dualpipe", "--depth", 4, "--micros", 9], "use 8 or 10"),
            (["pipedream-2bw", "--depth", 4, "--micros", 3], "use 4 or more"),
            (["1f1b", "--depth", 4, "--micros", 3, "--pipes", 2], "leave"),
            (["hanayo", "--depth", 4, "--micros", 3, "--chunks", 3], "use 4"),
            (["chimera", "--depth", 4, "--micros", 8, "--pipes", 4, "--scale",
              "doubling"], "--pipes 2"),
        ]:
            self.assertIn(hint, self.refused("schedule", *args)[1])

    def test_huge_layouts_are_refused_at_once(self):
        for depth, micros in [(10 ** 9, 10 ** 9), (2 ** 31 - 1, 1), (1, 10 ** 9)]:
            self.assertIn("E209", self.refused(
                "schedule", "gpipe", "--depth", depth, "--micros", micros,
                limit_mb=512)[0])

    def test_times_are_bounded(self):
        for value in ("nan", "inf", "-1", "1e308", "1e13", "x"):
            self.assertEqual(self.refused("simulate", "1f1b", "--depth", 2,
                                          "--micros", 2, "--forward",
                                          value)[0], ["E403"])

    def test_pipedream_lags_no_more_than_a_step_can_say(self):
        self.assertEqual(self.refused("simulate", "pipedream", "--depth",
                                      40000, "--micros", 1)[0], ["E203"])

    def test_cap(self):
        self.ok("schedule", "1f1b", "--depth", 4, "--micros", 8, "--cap", 4)
        self.ok("schedule", "chimera", "--depth", 4, "--micros", 4, "--cap", 1,
                "--recompute")
        codes, _ = self.refused("schedule", "gpipe", "--depth", 4, "--micros",
                                8, "--cap", 7)
        self.assertEqual(codes, ["E320"] * 4)

    def test_omega_counts_less_between_the_halves(self):
        planned = ("planned", "--depth", 4, "--micros", 8, "--pipes", 1,
                   "--cap", 5, "--weight-grad", 0.5)
        at_cap = ("--omega", 0.45)
        played = json.loads(self.ok("simulate", *planned, *at_cap, "--format",
                                    "json"))
        peak = max(each["peak_activations"] for each in played["workers"])
        self.assertLessEqual(peak, 5)
        self.assertLess(played["makespan"], json.loads(
            self.ok("simulate", *planned, "--format", "json"))["makespan"])
        order = self.ok("schedule", *planned, *at_cap, "--format", "sched")
        path = self.file("a.sched", order)
        self.ok("check", path, "--cap", 5, *at_cap)
        self.assertEqual(chimera("check", path, "--cap", 5).returncode, 2)
        codes, _ = self.refused("simulate", *planned, "--omega", 1.5)
        self.assertEqual(codes, ["E403"])

    def test_a_cap_in_bytes(self):
        on = ("--model", "gpt2-small", "--profile", "p100")
        layout = ("--depth", 4, "--micros", 12)
        codes, text = self.refused("simulate", "planned", *layout, *on,
                                   "--cap", "1MB")
        self.assertEqual(codes, ["E213"])
        least = int(re.search(r"use --cap (\d+)MB", text)[1])
        cap = ("--cap", f"{2 * least}MB")
        tight = json.loads(self.ok("simulate", "planned", *layout, *on, *cap,
                                   "--format", "json"))
        roomy = json.loads(self.ok("simulate", "planned", *layout, *on, "--cap",
                                   "100GB", "--format", "json"))
        self.assertLessEqual(roomy["makespan"], tight["makespan"])
        self.assertLess(max(each["peak_bytes"] for each in tight["workers"]),
                        max(each["peak_bytes"] for each in roomy["workers"]))
        codes, _ = self.refused("simulate", "gpipe", *layout, *on, *cap)
        self.assertEqual(set(codes), {"E320"})
        codes, _ = self.refused("schedule", "planned", *layout, *cap)
        self.assertEqual(codes, ["E406"])
        # GEMS holds one activation at a time, whatever its stages need.
        self.ok("simulate", "gems", *layout, *on, "--cap", f"{least - 200}MB")

    def test_emulated_models_have_no_bytes_to_cap(self):
        model = self.file("run.toml", EMULATED)
        codes, _ = self.refused("simulate", "planned", "--pipes", 1, "--depth",
                                4, "--micros", 8, "--model", model, "--cap",
                                "1MB")
        self.assertEqual(codes, ["E213"])
        # Omega belongs to the costs, so it goes with the file's own schedule.
        self.ok("simulate", "--model", model, "--omega", 0.5)
        self.assertEqual(self.refused("simulate", "--model", model, "--omega",
                                      7)[0], ["E403"])

    def test_workers_beyond_any_machine_are_refused(self):
        self.assertEqual(self.refused(
            "simulate", "1f1b", "--depth", 4096, "--micros", 1, "--model",
            self.file("run.toml", EMULATED), "--width", 1 << 20)[0], ["E209"])
        self.ok("plan", "--model", "gpt2-tiny", "--workers", 4, "--batch", 4,
                "--memory", "80GB", "--profile", "h100", "--ranks-per-node",
                2147483647, "--distribution", "cyclic")

    def test_lists_of_other_systems(self):
        layout = ("1f1b", "--depth", 2, "--micros", 2, "--width", 2)
        text = self.ok("schedule", *layout, "--lowered", "--sync", "ddp",
                       "--recompute", "late", "--format", "sched")
        self.assertIn("1B1 1G 1U 1SB1>0 N", text)
        self.assertIn("0R1<1 0B1", text)
        # A scheme may stand behind the switch.
        self.assertEqual(self.ok("simulate", "--recompute", *layout),
                         self.ok("simulate", *layout, "--recompute", "early"))
        self.assertEqual(self.refused("schedule", "chimera", "--depth", 4,
                                      "--micros", 4, "--sync", "ddp")[0],
                         ["E212"])
        self.assertEqual(self.refused("schedule", *layout,
                                      "--recompute=never")[0], ["E403"])

    def test_no_command_and_unknown_command(self):
        self.assertEqual(chimera().returncode, 2)
        self.assertIn('did you mean "simulate"?', self.refused("simulat")[1])

    def test_check_lists_every_violation_and_marks_the_cell(self):
        text = self.ok("schedule", "1f1b", "--depth", 2, "--micros", 2,
                       "--format", "sched")
        text = text.replace("worker 0: 0F0 0F1 0B0 0B1",
                            "worker 0: 0B0 0F0 0B1 1F1")
        path = self.file("a.sched", text)
        run = chimera("check", path)
        self.assertEqual(run.returncode, 2)
        self.assertIn(">>0B0<<", run.stdout)
        self.assertIn("0F1 is missing", run.stdout)
        self.assertIn("stands before its forward", run.stdout)
        self.assertRegex(run.stderr, r"a.sched: \d+ violations")
        data = json.loads(chimera("check", path, "--format", "json").stdout)
        self.assertFalse(data["ok"])
        self.assertGreaterEqual(len(data["violations"]), 3)

    def test_check_prints_the_cycle(self):
        # Each worker sends before it posts the receive of the other's message.
        lists = ["worker 0: 0F0 0SF0>1 1RF1@1<1 1F1@1 1B1@1 0RB0<1 0B0 "
                 "1SB1@1>1 0G 1G 0U 1U@1 N",
                 "worker 1: 0F1@1 0SF1@1>0 1RF0<0 1F0 1B0 0RB1@1<0 0B1@1 "
                 "1SB0>0 0G 1G 0U@1 1U N"]
        path = self.file("a.sched", "\n".join([
            "chimera-schedule-1", "scheme custom", "depth 2", "micros 2",
            "pipe 0: 0 1", "pipe 1: 1 0", "group 0: 0/0 1/0",
            "group 1: 0/1 1/1", *lists]))
        run = chimera("check", path)
        self.assertEqual(run.returncode, 2)
        self.assertIn("E310", run.stdout)
        self.assertIn("waits for ever: ", run.stdout)


class HostileFiles(Base):
    """Any bytes give exit code 2 with a reason, no crash, and bounded memory.
    """

    def hostile(self, name, text, limit_mb=400):
        return self.refused("check", self.file(name, text), limit_mb=limit_mb)

    def test_json(self):
        good = self.ok("schedule", "chimera", "--depth", 2, "--micros", 2,
                       "--lowered", "--format", "json")
        for text in [
            "", " ", "{", "{}", "[]", "[[[", "{\"format\":", "nul", "\x00",
            "[" * 1000000, "{\"a\":" * 100000, "{\"actions\":" + "[" * 500000,
            good.replace("chimera-schedule-1", "chimera-schedule-2"),
            good.replace('"depth":2', '"depth":2000000000'),
            good.replace('"depth":2', '"depth":-2'),
            good.replace('"depth":2', '"depth":2.5'),
            good.replace('"depth":2', '"depth":"2"'),
            good.replace('"depth":2', '"depth":1e9'),
            good.replace('"depth":2', '"depth":99999999999999999999'),
            good.replace('"micros":2', '"micros":2000000000'),
            good.replace('"stages":2', '"stages":3'),
            good.replace('"width":1', '"width":0'),
            good.replace('"parts":1', '"parts":3'),
            good.replace('"stage":0', '"stage":-1'),
            good.replace('"stage":0', '"stage":2147483647'),
            good.replace('"micro":1', '"micro":2147483647'),
            good.replace('"op":"F"', '"op":"X"'),
            good.replace('"op":"F"', '"op":null'),
            good.replace('"peer":1', '"peer":77'),
            good.replace('"group":1', '"group":77'),
            good.replace('"stage":', '"stag":'),
            good.replace('"placement":[[0,1],[1,0]]', '"placement":[[0,1],[1]]'),
            good.replace('"placement":[[0,1],[1,0]]', '"placement":[[0,1],[1,9]]'),
            good.replace('"placement":[[0,1],[1,0]]', '"placement":{}'),
            good.replace('"placement":[[0,1],[1,0]]', '"placement":[]'),
            good + "x",
        ]:
            with self.subTest(text=text[:80]):
                self.hostile("a.json", text)
        for cut in range(0, len(good) - 2, 7):
            self.hostile("a.json", good[:cut])

    def test_sched_and_csv(self):
        good = self.ok("schedule", "1f1b", "--depth", 2, "--micros", 2,
                       "--format", "sched")
        for text in [
            good.replace("depth 2", "depth 2000000000"),
            good.replace("depth 2", "depth x"),
            good.replace("micros 2", "micros -1"),
            good.replace("pipe 0: 0 1", "pipe 0: 0 -1"),
            good.replace("pipe 0: 0 1", "pipe 0: a b"),
            good.replace("pipe 0:", "pipe 7:"),
            good.replace("worker 1:", "worker 9:"),
            good.replace("0F0", "0F99999999999"),
            good.replace("0F0", "2147483647F0"),
            good.replace("0F0", "0F0~99999"),
            good.replace("0F0", "0Q0"),
            good.replace("scheme", "schema"),
            "chimera-schedule-1\n" + "worker 0:" + " 0F0" * 100000,
            "0F0,0B0\n1F0", "999999999F0,0B0\n", "0F0@999999999\n", "x,y\n",
            "0F999999999\n", ",,,\n", "\xff\xfe",
            "0F0,0B0,0F0@2147483647\n", "0F0,0B0,2147483647F0\n",
            "F0@999999999\n", "999999999N\n",
        ]:
            with self.subTest(text=text[:80]):
                self.hostile("a", text)

    def test_missing_file_and_directory(self):
        self.assertEqual(self.refused("check", self.folder / "no")[0], ["E405"])
        self.assertEqual(self.refused("check", self.folder)[0], ["E405"])

    def test_errors_are_bounded_and_printable(self):
        codes, text = self.hostile("a.csv", ",".join(["\x1b[31mQ"] * 50000))
        self.assertLessEqual(len(codes), 100)
        self.assertNotIn("\x1b", text)


class Help(Base):
    def test_every_command_has_help_with_examples(self):
        for command in ("schedule", "schemes", "check", "simulate", "plan", "init",
                        "completion"):
            text = self.ok(command, "--help")
            self.assertIn("Examples:", text)
            self.assertIn("chimera " + command, text)
        self.assertRegex(self.ok("--version"), r"^chimera \d+\.\d+\.\d+\n$")

    def test_completion_completes(self):
        script = self.ok("completion", "bash")
        path = self.file("completion.bash", script)
        probe = """
            source "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _chimera
            echo "${COMPREPLY[*]}" """

        def complete(*words):
            return subprocess.run(["bash", "-c", probe, "-", path, *words],
                                  capture_output=True, text=True,
                                  check=True).stdout.split()
        self.assertEqual(complete("chimera", "simu"), ["simulate"])
        self.assertEqual(complete("chimera", "schedule", "chim"),
                         ["chimera", "chimera-zero"])
        self.assertEqual(complete("chimera", "schedule", "--dep"), ["--depth"])
        self.assertEqual(complete("chimera", "schedule", "--scale", "h"),
                         ["halving"])
        self.assertEqual(complete("chimera", "init", "s"), ["slurm"])
        self.assertEqual(complete("chimera", "init", "--par"), ["--partition"])
        self.assertIn("#compdef chimera", self.ok("completion", "zsh"))


class Documents(Base):
    """The output and the figures that documents show are what chimera prints."""
    README = (ROOT / "README.md").read_text()
    SCHEMES = (ROOT / "docs/schemes.md").read_text()

    @staticmethod
    def simulated(micros, scheme):
        """(idle share, most activations held) on 8 workers, as printed there."""
        run = chimera("simulate", *scheme.split(), "--depth", 8, "--micros",
                      micros, "--format", "json")
        if run.returncode != 0:
            return "-", "-"
        result = json.loads(run.stdout)
        return (f"{100 * result['bubble_ratio']:.1f} %",
                f"{max(w['peak_activations'] for w in result['workers']):g}")

    def test_the_timeline_is_as_drawn(self):
        drawing = self.ok("schedule", "chimera", "--depth", 4, "--micros", 4)
        self.assertIn(drawing, self.README)

    def test_the_table_of_all_schemes(self):
        rows = re.findall(r"^\| `([\w -]+)` \|([^|]*)\|([^|]*)\|([^|]*)\|",
                          self.SCHEMES, re.M)
        schemes = json.loads(self.ok("schemes", "--format", "json"))["schemes"]
        self.assertEqual({row[0].split()[0] for row in rows},
                         {s["name"] for s in schemes})
        for scheme, at_8, at_16, held in rows:
            self.assertEqual(at_8.strip(), self.simulated(8, scheme)[0], scheme)
            self.assertEqual((at_16.strip(), held.strip()),
                             self.simulated(16, scheme), scheme)

    def test_the_table_of_situations(self):
        rows = re.findall(r"^\|[^|`]*\|([^|]*`[^|]*)\|([^|]*%[^|]*)\|([^|]*)\|",
                          self.README, re.M)
        self.assertGreaterEqual(len(rows), 5)
        for schemes, idle, held in rows:
            found = [self.simulated(16, scheme)
                     for scheme in re.findall(r"`([^`]*)`", schemes)]
            for column, cell in enumerate((idle, held)):
                values = list(dict.fromkeys(each[column] for each in found))
                self.assertEqual(cell.strip(), ", ".join(values), schemes)


if __name__ == "__main__":
    unittest.main()

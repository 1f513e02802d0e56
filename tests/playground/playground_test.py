"""The playground in a real browser, compared with the program.

usage: playground_test.py CHIMERA PLAYGROUND.html
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "page"))
from browser import CHROMIUM, Browser  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = os.path.abspath(sys.argv.pop(2))
CHIMERA = os.path.abspath(sys.argv.pop(1))
HOSTILE = "\"'></script><script>window.hit=1</script><img src=x onerror=window.hit=1>"
SCHEMES = [row["name"] for row in json.loads(subprocess.run(
    [CHIMERA, "schemes", "--format", "json"], capture_output=True, check=True,
    text=True).stdout)["schemes"]]


def chimera(*arguments, stdin=None):
    return subprocess.run([CHIMERA, *arguments], input=stdin, text=True,
                          capture_output=True, check=False)


def random_setting(draw):
    """The fields of one setting; a few of them are illegal."""
    depth = draw.choice([2, 3, 4, 6, 8])
    fields = {"scheme": draw.choice(SCHEMES), "depth": depth,
              "micros": depth * draw.choice([1, 2, 3]) + draw.choice([0, 0, 1])}
    if draw.random() < 0.3:
        fields["pipes"] = draw.choice([1, 2, 4])
    if draw.random() < 0.2:
        fields["shape"] = draw.choice(["linear", "loop", "vee", "wave"])
    if draw.random() < 0.2:
        fields["cap"] = draw.choice([1, depth, 1.5 * depth])
    if draw.random() < 0.5:
        fields["forward"] = draw.choice([0.7, 1.3, 2])
        fields["input"] = draw.choice([0.9, 1, 1.7])
        fields["weight"] = draw.choice([0.4, 0.8, 1])
    if draw.random() < 0.5:
        fields["p2p"] = draw.choice([0.1, 0.25, 1 / 3])
    if draw.random() < 0.4:
        fields["allreduce"] = draw.choice([0.5, 2])
    if draw.random() < 0.4:
        fields["steps"] = draw.choice([2, 3, 5])
    if draw.random() < 0.2:
        fields["width"] = 2
    if draw.random() < 0.2:
        fields["recompute"] = draw.choice(["early", "late"])
    if draw.random() < 0.2:
        fields["sync"] = draw.choice(["eager", "end"])
    return fields


def flags_of(fields):
    """The same setting as flags; the page's I + W is the backward."""
    flags = {name: str(value) for name, value in fields.items()
             if name not in ("scheme", "input", "weight")}
    grad, weight = fields.get("input", 1), fields.get("weight", 1)
    flags["backward"] = f"{grad + weight:.12g}"
    if grad != weight:
        flags["weight-grad"] = str(weight)
    return [fields["scheme"]] + [word for name, value in flags.items()
                                 for word in (f"--{name}", value)]


class PlaygroundTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.temporary.cleanup()

    def setUp(self):
        self.browser.resize(1280, 900)
        self.open("#scheme=chimera&vs=1f1b&depth=4&micros=8")

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.run("String(window.hit)"), "undefined")
        for address in self.browser.requests:  # nothing from the network
            self.assertRegex(address, "^(file:|blob:|data:)")

    def open(self, address):
        self.browser.open("about:blank")
        self.browser.open(f"file://{PAGE}{address}")
        self.wait_until_idle()

    def wait_until_idle(self, seconds=60):
        self.assertIsNotNone(self.browser.wait_for(
            "!!playground && playground.isIdle", seconds))

    def choose(self, fields, seconds=60):
        address = "#" + "&".join(f"{k}={v}" for k, v in fields.items()) + "&vs="
        self.browser.run(f"playground.isIdle = false;"
                         f"location.hash = {json.dumps(address)}")
        self.wait_until_idle(seconds)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key)

    def test_json_is_the_programs_on_50_settings(self):
        draw = random.Random(26)
        legal = refused = 0
        while legal < 50:
            fields = random_setting(draw)
            self.choose(fields)
            ours = chimera("simulate", *flags_of(fields), "--format", "json")
            shown = self.browser.run(
                "(playground.sides[0].answer || {}).json || ''")
            problem = self.browser.run(
                "playground.sides[0].problem.textContent")
            with self.subTest(fields=fields):
                self.assertEqual(shown, ours.stdout)
                self.assertEqual(problem, ours.stderr.strip())
            legal += ours.returncode == 0
            refused += ours.returncode != 0
        print(f"{legal} legal settings, {refused} refused ones")
        self.assertGreater(refused, 5)

    def test_recomputes_within_100_ms(self):
        self.open("#scheme=chimera&vs=1f1b&depth=16&micros=64")
        self.browser.wait_for("playground.table.engine.job === null", 60)
        times = []
        for turn in range(6):
            self.browser.run(f"""playground.isIdle = false;
                (() => {{
                  const input = document.querySelector('[name=p2p]');
                  input.value = '0.{turn + 1}';
                  input.dispatchEvent(new Event('input'));
                }})()""")
            self.wait_until_idle()
            times.append(self.browser.run("playground.milliseconds"))
        print("D=16, N=64, both schemes:", [f"{t:.0f} ms" for t in times])
        self.assertLess(min(times), 100)

    def test_planned_shows_progress_and_can_be_cancelled(self):
        self.browser.run("""window.shares = [];
            window.frames_seen = 0;
            const told = playground.tell.bind(playground);
            playground.tell = (side, progress) => {
              shares.push(progress.share);
              told(side, progress);
            };
            const count = () => { ++frames_seen; requestAnimationFrame(count); };
            count(); location.hash =
                '#scheme=planned&vs=&depth=8&micros=32&p2p=0.3&effort=20'; 1""")
        # The page goes on drawing while the search is still at work.
        self.assertIsNotNone(self.browser.wait_for(
            "shares.length > 5 && frames_seen > 5", 60))
        self.assertFalse(self.browser.run("playground.sides[0].search.hidden"))
        self.browser.run("document.querySelector('.search button').click()")
        self.wait_until_idle(2)
        self.assertIn("cancelled", self.browser.run(
            "playground.sides[0].problem.textContent"))
        shares = self.browser.run("shares")
        self.assertEqual(shares, sorted(shares))
        fields = {"scheme": "planned", "depth": 4, "micros": 8, "p2p": 0.3}
        self.choose(fields)
        self.assertEqual(
            self.browser.run("playground.sides[0].answer.json"),
            chimera("simulate", *flags_of(fields), "--format", "json").stdout)

    def test_a_page_that_cannot_start_says_so(self):
        script = self.browser.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="window.Worker = class { constructor() {"
                   " throw new Error('No workers here.'); } };")["identifier"]
        self.browser.open("about:blank")
        self.browser.open(f"file://{PAGE}")
        self.browser.call("Page.removeScriptToEvaluateOnNewDocument",
                          identifier=script)
        text = self.browser.run("document.body.innerText")
        self.assertIn("The playground cannot start: No workers here.", text)
        self.assertIn("Two pipes and split backwards", text)  # the tour

    def test_needs_hold_every_cause_and_curves_every_peak(self):
        for fields in (
                {"scheme": "chimera", "depth": 4, "micros": 8, "p2p": 0.25,
                 "allreduce": 2, "steps": 2},
                {"scheme": "zb-v", "depth": 4, "micros": 8, "p2p": 0.1},
                {"scheme": "chimera", "depth": 4, "micros": 8,
                 "scale": "halving"},
                {"scheme": "1f1b", "depth": 4, "micros": 6, "p2p": 0.5,
                 "recompute": "late", "width": 2, "allreduce": 1},
                {"scheme": "pipedream-2bw", "depth": 4, "micros": 8,
                 "p2p": 0.5, "steps": 3}):
            self.choose(fields)
            with self.subTest(fields=fields):
                wrong, causes = self.browser.run("""(() => {
                  const {panel} = playground.sides[0];
                  const {events, needs} = panel;
                  let causes = 0;
                  const wrong = [];
                  for (let i = 0; i < events.ops.length; ++i) {
                    const cause = events.cause[i];
                    if (cause < 0 || !isCompute(events.ops[i])) continue;
                    const list = events.computes[events.row[i]];
                    const before = list[list.indexOf(i) - 1];
                    if (cause === before || events.ops[i] === 'U') continue;
                    ++causes;
                    if (!needs[i].includes(cause)) wrong.push(
                        panel.describe(i) + ' / ' + panel.describe(cause));
                  }
                  return [wrong.slice(0, 3), causes];
                })()""")
                self.assertEqual(wrong, [])
                self.assertGreater(causes, 5)
                peaks = self.browser.run(
                    "playground.sides[0].answer.held"
                    ".map(({held}) => Math.max(...held))")
                stats = json.loads(self.browser.run(
                    "playground.sides[0].answer.json"))["workers"]
                self.assertEqual(peaks, [w["peak_activations"] for w in stats])

    def test_edits_are_checked_and_marked(self):
        browser = self.browser
        text = chimera("schedule", "chimera", "--depth", "4", "--micros", "8",
                       "--format", "sched").stdout
        browser.run("playground.editAsText()")
        self.wait_until_idle()
        self.assertEqual(browser.run("playground.editor.area.value"), text)
        self.assertEqual(browser.run("playground.editor.verdict.textContent"),
                         chimera("check", "-", stdin=text).stdout)
        self.assertEqual(browser.run("playground.sides[1].answer.json"),
                         browser.run("playground.sides[0].answer.json"))
        lines = text.split("\n")
        row = next(i for i, line in enumerate(lines)
                   if line.startswith("worker 1:"))
        cells = lines[row].split()
        cells[2], cells[-1] = cells[-1], cells[2]  # a backward comes too early
        lines[row] = " ".join(cells)
        wrong = "\n".join(lines)
        browser.run(f"""playground.editor.area.value = {json.dumps(wrong)};
            playground.editor.area.dispatchEvent(new Event('input'))""")
        self.assertIsNotNone(browser.wait_for(
            "document.querySelectorAll('.editor mark').length > 0", 10))
        found = json.loads(chimera("check", "-", "--format", "json",
                                   stdin=wrong).stdout)["violations"]
        marked = browser.run("[...document.querySelectorAll('.editor mark')]"
                             ".map((mark) => mark.textContent)")
        self.assertEqual(set(marked), {row["action"] for row in found
                                       if "position" in row})
        self.assertEqual(browser.run(
            "document.querySelectorAll('.mistakes li').length"), len(found))
        browser.run("document.querySelector('.mistakes button').click()")
        self.assertEqual(browser.run("""(() => {
            const {area} = playground.editor;
            return area.value.slice(area.selectionStart, area.selectionEnd);
          })()"""), found[0]["action"])

    def test_json_with_a_mistake_is_marked(self):
        schedule = json.loads(chimera("schedule", "chimera", "--depth", "4",
                                      "--micros", "8", "--format",
                                      "json").stdout)
        row = schedule["actions"][1]
        row[1], row[-1] = row[-1], row[1]
        self.open_file("wrong.json", json.dumps(schedule).encode())
        found = json.loads(chimera("check", "-", "--format", "json",
                                   stdin=json.dumps(schedule)).stdout)
        self.assertEqual(
            set(self.browser.run("[...document.querySelectorAll('.editor mark')]"
                                 ".map((mark) => mark.textContent)")),
            {row["action"] for row in found["violations"]})

    def test_a_file_that_is_opened_is_drawn(self):
        flags = ["zb-h1", "--depth", "4", "--micros", "6"]
        text = chimera("schedule", *flags, "--format", "csv").stdout
        self.assertRegex(self.open_file("a.csv", text.encode()), "^ok: ")
        self.wait_until_idle()
        self.assertEqual(
            self.browser.run("playground.sides[1].answer.json"),
            chimera("simulate", *flags, "--format", "json").stdout)

    def test_files_are_the_programs(self):
        flags = ["zb-v", "--depth", "4", "--micros", "8", "--p2p", "0.25"]
        self.choose({"scheme": "zb-v", "depth": 4, "micros": 8, "p2p": 0.25})
        for form in ("sched", "json", "csv", "torch-csv", "svg", "trace"):
            command = "simulate" if form in ("svg", "trace") else "schedule"
            theirs = chimera(command, *flags, "--format", form).stdout
            ours = self.browser.run(
                f"playground.write(playground.sides[0], '{form}', false)")
            self.assertEqual(ours, theirs, form)
            if form in ("sched", "json", "csv"):
                self.browser.run(f"playground.editor.take({json.dumps(ours)})")
                self.assertRegex(self.browser.run(
                    "playground.editor.verdict.textContent"), "^ok: ")

    def test_the_five_steps_are_as_documented(self):
        text = (ROOT / "docs/playground.md").read_text()
        steps = re.findall(r"playground\.html(#[^)]*)\)(.*)", text)
        self.assertEqual([address for address, _ in steps], self.browser.run(
            "[...document.querySelectorAll('.tour a')]"
            ".map((link) => link.getAttribute('href'))"))
        for (address, words), makespan in zip(steps, (45, 36, 28, 31, 27)):
            self.open(address)
            self.assertEqual(self.browser.run(
                "playground.sides[0].result.makespan"), makespan)
            self.assertIn(str(makespan), words)

    def open_file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        document = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.call("DOM.querySelector", nodeId=document,
                                 selector="input[type=file]")["nodeId"]
        self.browser.run("playground.editor.say('waits', false)")
        self.browser.call("DOM.setFileInputFiles", nodeId=node,
                          files=[str(path)])
        self.assertIsNotNone(self.browser.wait_for(
            "playground.editor.verdict.textContent !== 'waits' &&"
            "playground.editor.engine.job === null", 30), name)
        return self.browser.run("playground.editor.verdict.textContent")

    def test_hostile_files_do_nothing(self):
        huge = b"chimera-schedule-1\nscheme x\ndepth 2000000000\n" \
               b"micros 2000000000\nwidth 1\nparts 1\npipe 0: 0\n"
        for name, data in {
                "page.sched": HOSTILE.encode(),
                "name<img src=x onerror=window.hit=1>.sched": b"x" * 3_000_000,
                "scheme.json": json.dumps({
                    "format": "chimera-schedule-1", "scheme": HOSTILE,
                    "depth": HOSTILE}).encode(),
                "deep.json": b"{" + b'"a":[' * 300_000,
                "huge.sched": huge,
                "cells.sched": huge + b"worker 0: " + b"0F0 " * 200_000,
                "zeros.csv": bytes(100_000),
                "commas.csv": b"," * 1_000_000}.items():
            verdict = self.open_file(name, data)
            self.assertNotEqual(verdict, "", name)
            self.assertNotRegex(verdict, "^ok", name)
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('main img, main script').length"), 0)
        self.test_edits_are_checked_and_marked()  # the page still works

    def test_hostile_addresses_do_nothing(self):
        many = "9" * 5000
        for address in (
                f"#scheme={HOSTILE}&vs={HOSTILE}&depth={HOSTILE}",
                f"#scheme=planned&depth={many}&micros={many}&vs=planned",
                "#scheme=chimera&depth=4096&micros=65536&vs=gpipe&steps=1000",
                "#scheme=gpipe&depth=1000&micros=100000&vs=1f1b",
                "#scheme=planned&depth=64&micros=4096&vs=&effort=1000",
                "#scheme=1f1b&depth=4&micros=8&steps=99999999&p2p=1e999",
                "#scheme=__proto__&vs=constructor&depth=-1&micros=0",
                "#" + "scheme=chimera&" * 5000, "#%", "#scheme=%ff%00"):
            self.browser.open("about:blank")
            self.browser.open(f"file://{PAGE}{address}")
            self.assertIsNotNone(self.browser.wait_for("!!playground", 20))
            start = time.monotonic()
            self.browser.run("new Promise((done) => setTimeout(() =>"
                             "requestAnimationFrame(() => done(1)), 300))")
            self.assertLess(time.monotonic() - start, 3, address[:60])
            self.assertEqual(self.browser.run("String(window.hit)"),
                             "undefined")
            self.choose({"scheme": "1f1b", "depth": 4, "micros": 4})
            self.assertEqual(self.browser.run(
                "playground.sides[0].result.makespan"), 21)

    def test_works_by_keyboard_and_at_400_pixels(self):
        browser = self.browser
        browser.run("document.querySelector('#timeline canvas').focus()")
        self.press("ArrowRight")
        self.press("ArrowRight")
        self.press("Enter")
        details = browser.run("playground.board.details.textContent")
        self.assertRegex(details, "^Forward, of micro-batch .* Needed by ")
        self.assertTrue(browser.run("playground.board.isPinned"))
        self.press("+")
        self.assertLess(browser.run(
            "playground.board.range.to - playground.board.range.from"), 20)
        unnamed = browser.run("""[...document.querySelectorAll(
            'canvas, button, select, input, textarea')].filter((e) => !(
              e.getAttribute('aria-label') || e.textContent.trim() ||
              (e.labels && e.labels.length))).length""")
        self.assertEqual(unnamed, 0)
        colours = set()
        for is_dark in (False, True):
            browser.set_dark(is_dark)
            colours.add(browser.run(
                "getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colours), 2)
        browser.set_dark(False)
        browser.resize(400, 800)
        self.assertEqual(browser.run("document.documentElement.scrollWidth"),
                         400)
        self.assertGreater(browser.run(
            "document.querySelector('#timeline canvas').clientWidth"), 300)

    def test_the_table_has_all_schemes_and_sorts(self):
        browser = self.browser
        self.assertIsNotNone(browser.wait_for(
            "/^Each scheme/.test(playground.table.status.textContent)", 120))
        names = "[...document.querySelectorAll('#schemes tbody th')]" \
                ".map((cell) => cell.textContent)"
        self.assertEqual(sorted(browser.run(names)), sorted(SCHEMES))
        for column in (0, 2):
            before = browser.run(names)
            button = f"document.querySelectorAll('#schemes th button')[{column}]"
            browser.run(f"{button}.click()")
            self.assertNotEqual(browser.run(names), before)
        makespan = json.loads(chimera(
            "simulate", "zb-h1", "--depth", "4", "--micros", "8", "--format",
            "json").stdout)["makespan"]
        self.assertEqual(browser.run("playground.table.rows.find("
                                     "({name}) => name === 'zb-h1').makespan"),
                         makespan)
        browser.run("[...document.querySelectorAll('#schemes tbody button')]"
                    ".find((each) => each.textContent === 'zb-h1').click()")
        self.wait_until_idle()
        self.assertEqual(browser.run("playground.sides[0].title"), "A: zb-h1")
        self.assertIn("scheme=zb-h1", browser.run("location.hash"))


if __name__ == "__main__":
    if not CHROMIUM or not os.path.exists(PAGE):
        print("SKIPPED: chromium or", PAGE, "is missing; try ./dev playground")
        raise SystemExit(77)
    unittest.main(verbosity=2)

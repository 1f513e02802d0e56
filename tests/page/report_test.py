"""chimera report in a real browser: layout, speed, keyboard, hostile text."""
import json
import pathlib
import tempfile
import unittest

import runs
from browser import CHROMIUM, Browser

# Zooms a canvas in and out with the wheel, once per frame; returns the frame
# times.
ZOOM = """new Promise((done) => {
  const canvas = document.querySelector('%s');
  canvas.scrollIntoView({block: 'center'});
  const times = [];
  let last = null;
  let frame = 0;
  const next = (now) => {
    if (last !== null) times.push(now - last);
    last = now;
    if (++frame > 90) return done(times);
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new WheelEvent('wheel', {
      deltaY: frame < 45 ? -60 : 60, ctrlKey: true, cancelable: true,
      bubbles: true, clientX: box.left + box.width * 0.6, clientY: box.top + 9}));
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>"


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.temporary.cleanup()

    def report(self, name, *paths):
        page = self.folder / f"{name}.html"
        runs.chimera("report", *paths, "-o", page)
        return page

    def open(self, page):
        """Open a page at 1280 pixels; returns the seconds it took."""
        self.browser.resize(1280, 900)
        seconds = self.browser.open(f"file://{page}")
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.requests, [f"file://{page}"])
        return seconds

    def test_large_run_loads_and_zooms_fast(self):
        run = runs.make_run(self.folder / "large", workers=32, steps=10000,
                            traced=3)
        page = self.report("large", run)
        self.assertLess(page.stat().st_size, 2_000_000)
        # Other programs may slow down one attempt; the best is the page's time.
        seconds = min(self.open(page) for _ in range(4))
        print(f"large: {page.stat().st_size} bytes, loaded in {seconds:.2f} s")
        self.assertLess(seconds, 2)
        for canvas in ("#curves canvas", "#step canvas"):
            rounds = [sorted(self.browser.run(ZOOM % canvas)) for _ in range(5)]
            slow = min(times[int(0.95 * len(times))] for times in rounds)
            print(f"{canvas}: 95 % of frames within {slow:.1f} ms")
            self.assertLess(slow, 50)
        self.assertEqual(self.browser.problems, [])

    def test_says_what_was_left_out(self):
        run = runs.make_run(self.folder / "long", steps=5000)
        self.open(self.report("long", run))
        text = self.browser.run("document.querySelector('#curves').innerText")
        self.assertIn("Of every 4 steps the lowest and the highest", text)

    def test_hostile_text_does_not_run(self):
        run = runs.make_run(self.folder / "<b onclick=x>&'", steps=3,
                            data=HOSTILE.replace('"', '\\"'))
        (run / "machine.json").write_text(json.dumps({
            "version": HOSTILE, "started": HOSTILE,
            "hosts": [{"name": HOSTILE, "cores": 1, "ranks": [0, 1]},
                      {"name": "other", "cores": 1, "ranks": [2, 3]}]}))
        (run / "events.jsonl").write_text("".join(
            json.dumps({"step": 1, "kind": kind, "text": HOSTILE}) + "\n"
            for kind in (HOSTILE, "fault", "__proto__", "constructor")))
        (run / "flight").mkdir()
        (run / "flight/rank_0.txt").write_text(f"layer {HOSTILE}: lost\n")
        (run / "state.json").write_text(json.dumps(
            {"state": HOSTILE, "step": 3, "exit": 1}))
        self.open(self.report("hostile", run, run))
        self.browser.run("document.querySelector('#step canvas').focus()")
        for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
            self.press(key)
        self.assertIn("<script>", self.browser.run(
            "document.querySelector('#step .details').textContent"))
        self.assertEqual(self.browser.run("String(window.hit)"), "undefined")
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('img, main b[onclick]').length"), 0)
        self.assertEqual(self.browser.problems, [])

    def test_events_are_listed_and_marked(self):
        run = runs.make_run(self.folder / "events")
        kinds = ("save", "resume", "replan", "warning", "fault")
        (run / "events.jsonl").write_text("".join(
            json.dumps({"step": 10 + i, "kind": kind, "text": f"{kind}!"}) + "\n"
            for i, kind in enumerate(kinds)))
        self.open(self.report("events", run))
        for kind in kinds:
            self.assertEqual(self.browser.run(
                f"document.querySelector('#events .kind-{kind}')"
                ".parentNode.lastChild.textContent"), f"{kind}!")
        self.browser.run("curveBoard.hover(12)")
        self.assertIn("step 12: new plan: replan!", self.browser.run(
            "document.querySelector('#curves .tools').textContent"))
        legend = self.browser.run(
            "document.querySelector('#curves .legend').textContent")
        for word in ("checkpoint", "resumed", "new plan", "warning", "fault"):
            self.assertIn(word, legend)

    def test_marks_of_one_step_do_not_hide_each_other(self):
        run = runs.make_run(self.folder / "recovered")
        (run / "events.jsonl").write_text("".join(
            json.dumps({"step": 20, "kind": kind, "text": kind}) + "\n"
            for kind in ("save", "fault", "resume")))
        self.open(self.report("recovered", run))
        places = self.browser.run("""new Promise((done) => {
          const places = {};
          drawMark = (context, kind, x) => { places[kind] = x; };
          curveBoard.draw();
          requestAnimationFrame(() => requestAnimationFrame(
              () => done(places)));
        })""")
        self.assertLessEqual(places["fault"] + 10, places["resume"])
        self.assertLessEqual(places["resume"] + 10, places["save"])

    def test_small_differences_have_no_sign(self):
        self.open(self.report("signs", runs.make_run(self.folder / "signs")))
        texts = [self.browser.run(f"formatChange({share})")
                 for share in (-0.004, 0.004, -0.02, 0.02)]
        self.assertEqual(texts, [f"{n}\u00a0%" for n in ("0", "0", "-2", "+2")])

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key)

    def test_works_by_keyboard_and_aloud(self):
        run = runs.make_run(self.folder / "keys")
        self.open(self.report("keys", run))
        browser = self.browser
        details = "document.querySelector('#step .details').textContent"
        browser.run("document.querySelector('#step canvas').focus()")
        self.press("ArrowRight")
        first = browser.run(details)
        self.assertRegex(first, "Forward, of micro-batch 0.*worker 0")
        self.press("ArrowRight")
        self.assertNotEqual(browser.run(details), first)
        browser.run("document.querySelector('#curves canvas').focus()")
        self.press("+")
        self.press("ArrowRight")
        self.assertIsNotNone(browser.wait_for(
            "/step /.test(document.querySelector('#curves output').textContent)",
            10))
        self.assertRegex(browser.run(
            "document.querySelector('#curves [aria-live]').textContent"),
            r"Loss [\d.]+ at step \d+, ")
        unnamed = browser.run("""[...document.querySelectorAll(
            'canvas, button, select, input')].filter((e) => !(
              e.getAttribute('aria-label') || e.textContent ||
              (e.labels && e.labels.length))).length""")
        self.assertEqual(unnamed, 0)

    def test_fits_a_phone_and_both_themes(self):
        paths = [runs.make_run(self.folder / f"compared{i}", steps=20 * (i + 1))
                 for i in range(4)]
        self.open(self.report("compared", *paths))
        colours = set()
        for is_dark in (False, True):
            self.browser.set_dark(is_dark)
            colours.add(self.browser.run(
                "getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colours), 2)
        self.browser.set_dark(False)
        self.browser.resize(400, 800)
        self.assertEqual(self.browser.run(
            "document.documentElement.scrollWidth"), 400)
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('#step figure').length"), 4)
        # A bar has the whole width, below its numbers.
        self.assertGreater(self.browser.run(
            "document.querySelector('#memory .bar').clientWidth"), 300)

    def test_summary_without_script_and_on_paper(self):
        run = runs.make_run(self.folder / "plain")
        page = self.report("plain", run)
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call,
                        "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.call("Page.navigate", url=f"file://{page}")
        self.assertIsNotNone(self.browser.wait_for(
            "document.readyState === 'complete' && !!document.body", 20))
        text = self.browser.run("document.body.innerText")
        for part in ("Loss", "chimera", "50 of 50", "switched off"):
            self.assertIn(part, text)
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.open(page)
        paper = self.browser.call("Page.printToPDF")["data"]
        self.assertGreater(len(paper), 10000)
        self.assertEqual(self.browser.problems, [])


if __name__ == "__main__":
    if not CHROMIUM:
        print("SKIPPED: chromium is not installed")
        raise SystemExit(77)
    unittest.main(verbosity=2)

"""report and watch as scripts see them; tests/page/ tests their pages."""
from program import Base, chimera, unittest

CONFIG = """[model]
kind = "emulated"
forward_ms = 1
input_grad_ms = 1
weight_grad_ms = 1
[schedule]
scheme = "chimera"
depth = 4
micros = 4
micro_batch = 1
[train]
steps = 2
"""


class Report(Base):
    def make_run(self, name):
        (self.folder / name).mkdir()
        self.file(f"{name}/config.toml", CONFIG)
        self.file(f"{name}/metrics.jsonl",
                  '{"step":1,"loss":0,"step_s":0.5,"bubble":0.25}\n')
        self.ok("schedule", "chimera", "--depth", "4", "--micros", "4",
                "--lowered", "--format", "sched",
                "-o", self.folder / name / "schedule.sched")
        return self.folder / name

    def test_writes_one_page_of_all_runs(self):
        a, b = self.make_run("a"), self.make_run("b")
        page = self.ok("report", a, b, "-o", "-")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn("a and 1 more", page)
        run = chimera("report", a, "-o", self.folder / "a.html")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stdout, "")
        self.assertIn("a.html", run.stderr)
        self.assertIn("</html>", (self.folder / "a.html").read_text())

    def test_all_mistakes_at_once(self):
        codes, text = self.refused("report", self.folder,
                                   self.folder / "nowhere", "-o", "-")
        self.assertEqual(codes, ["E411", "E411"])
        self.assertIn("does not exist", text)
        self.assertEqual(self.refused("report")[0], ["E402"])

    def test_page_that_cannot_be_written(self):
        run = chimera("report", self.make_run("a"), "-o",
                      self.folder / "no/page.html")
        self.assertEqual(run.returncode, 8)

    def test_watch_refuses_what_it_cannot_serve(self):
        run = self.make_run("a")
        self.assertEqual(self.refused("watch")[0], ["E402"])
        self.assertEqual(self.refused("watch", run, "--port", "70000")[0],
                         ["E403"])
        self.assertEqual(
            self.refused("watch", self.folder / "b", "--host", "203.0.113.1")[0],
            ["E411", "E412"])


if __name__ == "__main__":
    unittest.main()

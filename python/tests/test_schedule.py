"""Compares the torch-free half with closed forms and with the program's output.
"""

import ast
import importlib.util
import inspect
import pathlib
import pickle
import subprocess
import sys

import pytest

import chimera

SOURCES = pathlib.Path(__file__).parents[1]


def test_chimera_makespan_has_its_closed_form():
    schedule = chimera.schedule("chimera", depth=4, micros=4)
    assert (schedule.depth, schedule.micros, schedule.pipes) == (4, 4, 2)
    # Li and Hoefler, SC'21: at N = D, D/2 forwards longer than N pairs of F and
    # B.
    assert schedule.simulate(forward=1, backward=1).makespan == 4 * 2 + 2


def test_1f1b_has_its_closed_form():
    played = chimera.schedule("1f1b", depth=4, micros=8).simulate()
    assert played.makespan == (8 + 3) * 3
    assert played.ideal == 8 * 3
    assert played.bubble_ratio == pytest.approx(3 / 11)
    assert [each.busy for each in played.workers] == [24] * 4
    assert [each.peak_activations for each in played.workers] == [4, 3, 2, 1]


def test_a_message_costs_its_latency():
    schedule = chimera.schedule("gpipe", depth=2, micros=1)
    assert schedule.simulate(p2p=0.5).makespan == 2 * 3 + 2 * 0.5


def test_values_are_equal_by_content_and_hashable():
    a = chimera.schedule("zb-v", depth=4, micros=8)
    b = chimera.schedule("zb-v", depth=4, micros=8)
    assert a == b and hash(a) == hash(b)
    assert a != chimera.schedule("zb-v", depth=4, micros=9)
    assert a != "zb-v"
    assert pickle.loads(pickle.dumps(a)) == a
    assert repr(a) == "<chimera.Schedule zb-v, D=4, N=8, 2 chunks>"


@pytest.mark.parametrize("lowered", [False, True])
def test_json_round_trip(tmp_path, lowered):
    schedule = chimera.schedule("chimera", depth=4, micros=8, width=2)
    if lowered:
        schedule = schedule.lower(recompute=True, sync="eager")
    path = tmp_path / "a.json"
    path.write_text(schedule.to_json())
    assert chimera.Schedule.load(path) == schedule
    assert schedule.is_lowered == lowered


def test_every_scheme_lowers_and_checks_clean():
    names = [scheme.name for scheme in chimera.schemes()]
    assert {"chimera", "planned", "1f1b", "zb-v", "interleaved"} <= set(names)
    for name in names:
        schedule = chimera.schedule(name, depth=4, micros=8)
        assert schedule.check() == []
        assert schedule.lower().check() == []
        assert schedule.simulate().makespan >= schedule.simulate().bound - 1e-9


def test_check_lists_violations_as_diagnostics():
    schedule = chimera.schedule("gpipe", depth=2, micros=4)
    found = schedule.check(cap=1)
    assert found and all(isinstance(each, chimera.Diagnostic) for each in found)
    assert found[0].code.startswith("E3") and "worker" in found[0].where


def test_planned_orders_follow_the_times():
    spec = {"depth": 4, "micros": 6, "shape": "vee"}
    even = chimera.schedule("planned", **spec)
    slow = chimera.schedule("planned", **spec, p2p=0.5)
    assert (slow.simulate(p2p=0.5).makespan
            <= even.simulate(p2p=0.5).makespan + 1e-9)


def test_an_error_holds_every_diagnostic():
    with pytest.raises(chimera.Error) as caught:
        chimera.schedule("chimera", depth=3, micros=0)
    assert len(caught.value.diagnostics) >= 2
    for each in caught.value.diagnostics:
        assert str(each) in str(caught.value)
        assert each.code.startswith("E2")
    assert isinstance(caught.value, ValueError)


def test_wrong_names_say_what_there_is():
    with pytest.raises(chimera.Error, match="chimera"):
        chimera.schedule("chimaera", depth=4, micros=4)
    with pytest.raises(chimera.Error, match="direct doubling halving"):
        chimera.schedule("chimera", depth=4, micros=4, scale="double")
    with pytest.raises(chimera.Error, match="lowered already"):
        chimera.schedule("1f1b", depth=2, micros=2).lower().lower()


def test_a_broken_file_raises_with_its_line(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"format": "chimera-schedule-1",\n "depth": x}')
    with pytest.raises(chimera.Error, match="broken.json:2"):
        chimera.Schedule.load(path)
    with pytest.raises(chimera.Error, match="nowhere"):
        chimera.Schedule.load(tmp_path / "nowhere.json")


def test_simulation_refuses_all_at_once():
    schedule = chimera.schedule("1f1b", depth=2, micros=2)
    with pytest.raises(chimera.Error) as caught:
        schedule.simulate(forward=-1, steps=0, weight_grad=3)
    assert len(caught.value.diagnostics) == 3


def test_omega_counts_what_waits_for_the_weight_gradient():
    planned = chimera.schedule("planned", depth=4, micros=8, pipes=1, cap=5,
                               weight_grad=0.5, omega=0.45)
    assert planned.check(cap=5, omega=0.45) == []
    assert [each.code for each in planned.check(cap=4, omega=0.45)] != []
    peaks = [max(each.peak_activations
                 for each in planned.simulate(omega=omega).workers)
             for omega in (0.45, 1)]
    assert peaks[0] <= 5 < peaks[1]
    with pytest.raises(chimera.Error, match="between 0 and 1"):
        planned.simulate(omega=1.5)


def test_a_scheme_that_needs_more_than_the_cap_is_refused():
    with pytest.raises(chimera.Error) as caught:
        chimera.schedule("gpipe", depth=4, micros=8, cap=4)
    assert len(caught.value.diagnostics) == 4
    assert chimera.schedule("1f1b", depth=4, micros=8, cap=4).check(cap=4) == []


def test_late_recomputation_starts_with_the_gradient():
    schedule = chimera.schedule("1f1b", depth=4, micros=8)
    early, late = (schedule.lower(recompute=when) for when in ("early", "late"))
    assert early == schedule.lower(recompute=True) != late
    assert late.simulate().makespan > early.simulate().makespan
    with pytest.raises(chimera.Error, match="early"):
        schedule.lower(recompute="never")


def test_the_usual_times_may_stand_without_names():
    schedule = chimera.schedule("1f1b", depth=4, micros=8)
    assert schedule.simulate(1, 3, 1, 0.5, 2).period == schedule.simulate(
        forward=1, backward=3, weight_grad=1, p2p=0.5, steps=2).period
    assert schedule.simulate().workers[0].peak_bytes is None


def test_torch_csv():
    text = chimera.schedule("1f1b", depth=2, micros=2).to_torch_csv()
    assert text.splitlines()[0].split(",")[0] == "0F0"
    with pytest.raises(chimera.Error, match="several workers|replica|stage"):
        chimera.schedule("chimera", depth=2, micros=2).to_torch_csv()


def test_trace_is_an_array_of_every_event():
    numpy = pytest.importorskip("numpy")
    played = chimera.schedule("1f1b", depth=2, micros=3).simulate()
    trace = played.trace
    assert trace["end"].max() == played.makespan
    forwards = trace[trace["op"] == "F"]
    assert len(forwards) == 2 * 3
    assert sorted(set(forwards["micro"])) == [0, 1, 2]
    busy = [(trace["end"] - trace["start"])[
        (trace["worker"] == worker) & numpy.isin(trace["op"], ["F", "B"])].sum()
            for worker in range(2)]
    assert busy == [each.busy for each in played.workers]


def test_drawings_are_svg():
    schedule = chimera.schedule("chimera", depth=4, micros=4)
    assert schedule._repr_svg_().startswith("<svg")
    assert "D=4" in schedule.simulate().svg()


def test_plan():
    report = chimera.plan("bert-48", workers=8, batch=64, memory="16GB",
                          schemes=["chimera", "1f1b"])
    assert {each.scheme for each in report} <= {"chimera", "1f1b"}
    best = report.best
    assert best.depth * best.width == 8
    assert best.micros * best.micro_batch * best.width == 64
    assert all(best.step_s <= other.step_s for other in report)
    assert best.schedule().depth == best.depth
    with pytest.raises(chimera.Error) as caught:
        chimera.plan("bert-49", workers=0, batch=64, memory="x")
    assert len(caught.value.diagnostics) == 3


def test_plan_knows_precision_and_nodes():
    common = dict(workers=8, batch=64, memory="40GB", profile="h100",
                  schemes=["1f1b"])
    half, full = (chimera.plan("gpt2-64", precision=each, **common).best
                  for each in ("bf16", "float32"))
    assert half.step_s < full.step_s
    apart = chimera.plan("gpt2-64", ranks_per_node=1, **common).best
    assert apart.step_s > full.step_s
    with pytest.raises(chimera.Error, match="links within a node"):
        chimera.plan("bert-48", workers=8, batch=64, ranks_per_node=4)


def test_import_needs_neither_torch_nor_numpy():
    code = ("import sys, chimera\n"
            "chimera.schedule('chimera', depth=2, micros=2).simulate()\n"
            "assert not {'torch', 'numpy'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


def public_members(owner):
    return [(name, member) for name, member in vars(owner).items()
            if not name.startswith("_")]


def test_everything_public_has_a_docstring():
    packages = [chimera]
    if importlib.util.find_spec("torch"):
        packages.append(importlib.import_module("chimera.torch"))
    for package in packages:
        for name in package.__all__:
            member = getattr(package, name)
            assert member.__doc__, name
            if not inspect.isclass(member) or issubclass(member, tuple):
                continue
            for of_class, each in public_members(member):
                if callable(each) or isinstance(each, (property, staticmethod)):
                    assert each.__doc__, f"{name}.{of_class}"


@pytest.mark.parametrize("module", ["chimera._core", "chimera.torch._runtime"])
def test_stubs_name_what_the_extension_has(module):
    if module.startswith("chimera.torch"):
        pytest.importorskip("torch")
    stub = SOURCES / (module.replace(".", "/") + ".pyi")
    listed = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef):
            listed[node.name] = {
                each.name if isinstance(each, ast.FunctionDef)
                else each.target.id for each in node.body}
        elif isinstance(node, ast.FunctionDef):
            listed[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            listed[node.target.id] = None
    extension = importlib.import_module(module)
    assert {name for name, _ in public_members(extension)} == set(listed)
    for name, members in listed.items():
        if members is not None:
            found = {each for each, _ in public_members(
                getattr(extension, name))}
            assert found == {each for each in members
                             if not each.startswith("__")}, name

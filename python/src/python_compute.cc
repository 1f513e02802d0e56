#include "python_compute.h"

#include <ATen/core/grad_mode.h>

#include "chimera/base/check.h"
#include "chimera/exec/program.h"
#include "chimera/model/weight_grad_queue.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// A Python reference that takes the GIL to drop itself, on whatever thread.
class Object {
 public:
  explicit Object(py::object object) : object_(std::move(object)) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() {
    const py::gil_scoped_acquire gil;
    object_ = {};
  }
  py::object& operator*() { return object_; }
  py::object* operator->() { return &object_; }

 private:
  py::object object_;
};

struct PythonStash final : Stash {
  explicit PythonStash(py::object kept) : graph(std::move(kept)) {}
  std::shared_ptr<WeightGradQueue> deferred;
  Object graph;  // what Python keeps for the backward
};

// The user's optimizer updates the weights, so they stay in the user's modules
// and nothing is kept here.
struct ModuleWeights final : Weights {};

std::vector<at::Tensor> tensors_in(const PayloadPtr& payload) {
  return dynamic_cast<const TensorsPayload&>(*payload).tensors();
}

class PythonCompute final : public StageCompute {
 public:
  PythonCompute(const py::object& rank_compute,
                const PythonComputeOptions& options)
      : rank_(rank_compute),
        lowered_(options.lowered),
        boundaries_(options.boundaries),
        index_(lowered_),
        is_split_(index_.size(), false) {
    const int worker = place_of(lowered_, options.rank).worker;
    for (const Action& action : lowered_.actions[worker]) {
      if (action.op == Op::kI) is_split_[index_.made_by(action)] = true;
    }
  }

  WeightsPtr initial_weights(int /*stage*/) override {
    return std::make_shared<ModuleWeights>();
  }
  WeightsPtr update(const UpdateOrder& /*order*/,
                    const WeightsPtr& current) override {
    return current;
  }
  NumberBuffer updated_shards(const SumGroup& /*group*/,
                              int /*stage*/) override {
    return {};
  }

  ForwardResult forward(const Work& work, const WeightsPtr& weights,
                        PayloadPtr input, Keep keep) override;
  void recompute(const Work& work, Stash& stash) override;
  PayloadPtr backward(const Work& work, Stash& stash,
                      PayloadPtr gradient) override;
  // The same call as backward: the graph built by the forward already leaves
  // weight gradients to W if the backward is split.
  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override {
    return backward(work, stash, std::move(gradient));
  }
  void weight_grad(const Work& work, Stash& stash) override;
  NumberBuffer gradient(const SumGroup& group) override;
  Ballot ballot(int step, bool training) override;
  PayloadPtr empty_payload(const Work& work, bool is_gradient) override;

 private:
  Object rank_;
  const Schedule& lowered_;
  const std::vector<Boundary>& boundaries_;
  MicroIndex index_;
  std::vector<bool> is_split_;  // [gradient]: split into I and W
};

ForwardResult PythonCompute::forward(const Work& work,
                                     const WeightsPtr& /*weights*/,
                                     PayloadPtr input, Keep keep) {
  const py::gil_scoped_acquire gil;
  auto stash = std::make_unique<PythonStash>(py::none());
  if (keep != Keep::kNothing &&
      is_split_[index_.gradient(work.stage, work.micro, 0)]) {
    stash->deferred = std::make_shared<WeightGradQueue>();
  }
  const py::object inputs = input ? py::cast(tensors_in(input)) : py::none();
  const char* keeps[] = {"graph", "input", "nothing"};
  const py::tuple result =
      rank_->attr("forward")(work.stage, work.micro, inputs,
                             keeps[static_cast<int>(keep)], stash->deferred);
  ForwardResult made;
  if (work.stage + 1 < lowered_.stages()) {
    made.output = std::make_unique<TensorsPayload>(
        result[0].cast<std::vector<at::Tensor>>());
  }
  *stash->graph = result[1];
  if (keep != Keep::kNothing) made.stash = std::move(stash);
  return made;
}

void PythonCompute::recompute(const Work& work, Stash& stash) {
  const py::gil_scoped_acquire gil;
  auto& kept = dynamic_cast<PythonStash&>(stash);
  rank_->attr("recompute")(work.stage, work.micro, *kept.graph, kept.deferred);
}

PayloadPtr PythonCompute::backward(const Work& work, Stash& stash,
                                   PayloadPtr gradient) {
  const py::gil_scoped_acquire gil;
  auto& kept = dynamic_cast<PythonStash&>(stash);
  const py::object gradients =
      gradient ? py::cast(tensors_in(gradient)) : py::none();
  const py::object passed_on = rank_->attr("backward")(*kept.graph, gradients);
  if (work.stage == 0) return nullptr;
  return std::make_unique<TensorsPayload>(
      passed_on.cast<std::vector<at::Tensor>>());
}

void PythonCompute::weight_grad(const Work& /*work*/, Stash& stash) {
  const at::NoGradGuard no_grad;
  dynamic_cast<PythonStash&>(stash).deferred->run();
}

NumberBuffer PythonCompute::gradient(const SumGroup& group) {
  const py::gil_scoped_acquire gil;
  const auto flat = rank_->attr("gradient")(group.id).cast<at::Tensor>();
  return {.data = flat.data_ptr(),
          .count = static_cast<std::size_t>(flat.numel()),
          .type = flat.scalar_type() == at::kDouble ? NumberType::kFloat64
                                                    : NumberType::kFloat32};
}

Ballot PythonCompute::ballot(int /*step*/, bool /*training*/) {
  const py::gil_scoped_acquire gil;
  return {.loss = rank_->attr("take_loss")().cast<double>()};
}

PayloadPtr PythonCompute::empty_payload(const Work& work, bool is_gradient) {
  if (!is_gradient) {
    return std::make_unique<TensorsPayload>(boundaries_[work.stage - 1]);
  }
  Boundary gradients;
  for (const TensorSpec& spec : boundaries_[work.stage]) {
    if (spec.has_gradient) gradients.push_back(spec);
  }
  return std::make_unique<TensorsPayload>(gradients);
}

}  // namespace

std::unique_ptr<StageCompute> make_python_compute(
    const py::object& rank_compute, const PythonComputeOptions& options) {
  return std::make_unique<PythonCompute>(rank_compute, options);
}

}  // namespace chimera::python

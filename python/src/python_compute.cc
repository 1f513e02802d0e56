#include "python_compute.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "chimera/model/weight_grad_queue.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// A Python reference that may be dropped on any thread: its destructor takes
// the GIL.
class Object {
 public:
  explicit Object(py::object object) : object_(std::move(object)) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() {
    if (!object_) return;
    const py::gil_scoped_acquire gil;
    object_ = {};
  }
  py::object& operator*() { return object_; }
  py::object* operator->() { return &object_; }

 private:
  py::object object_;
};

using Tensors = std::vector<at::Tensor>;

// What a forward keeps for its backward. The graph between leaves and roots is
// built by the forward, or by the recomputation.
struct PythonStash final : Stash {
  std::shared_ptr<WeightGradQueue> deferred;
  Tensors inputs;               // only if inputs are kept
  Object random{py::object()};  // generator state to recompute from
  Tensors leaves;               // empty in stage 0
  Tensors roots;
};

// The user's optimizer updates the weights, so they stay in the user's modules
// and nothing is kept here.
struct ModuleWeights final : Weights {};

Tensors tensors_in(const PayloadPtr& payload) {
  if (!payload) return {};
  return dynamic_cast<const TensorsPayload&>(*payload).tensors();
}

class PythonCompute final : public StageCompute {
 public:
  PythonCompute(const py::object& rank_compute,
                const PythonComputeOptions& options)
      : rank_(rank_compute),
        forward_(rank_compute.attr("forward")),
        program_(options.program),
        boundaries_(options.boundaries),
        share_(rank_compute.attr("share").cast<double>()),
        is_split_(program_.index().size(), false) {
    for (const Action& action : program_.list()) {
      if (action.op == Op::kI) {
        is_split_[program_.index().made_by(action)] = true;
      }
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
  // Input gradients take the same call as backward: if the backward is split,
  // the graph built by the forward already leaves weight gradients to W.
  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override {
    return backward(work, stash, std::move(gradient));
  }
  void weight_grad(const Work& work, Stash& stash) override;
  NumberBuffer gradient(const SumGroup& group) override;
  Ballot ballot(int step, bool training) override;
  PayloadPtr empty_payload(const Work& work, bool is_gradient) override;

 private:
  // Detached inputs, to which autograd adds the gradients to pass on.
  [[nodiscard]] Tensors make_leaves(int stage, const Tensors& inputs) const;
  // Packs the outputs of a stage for the next one; null from the last stage.
  // Unless `stash` is null, notes in it where the backward starts. REQUIRES:
  // the GIL is held.
  [[nodiscard]] PayloadPtr finish(int stage, const py::object& outputs,
                                  PythonStash* stash);
  [[nodiscard]] bool is_last(int stage) const {
    return program_.is_last_stage(stage);
  }

  Object rank_;
  Object forward_;  // rank_.forward
  const Program& program_;
  const std::vector<Boundary>& boundaries_;
  double share_;                // of a micro-batch's loss in the mini-batch's
  std::vector<bool> is_split_;  // [gradient]: whether split into I and W
};

Tensors PythonCompute::make_leaves(int stage, const Tensors& inputs) const {
  Tensors leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(inputs[i].detach());
    leaves[i].set_requires_grad(boundaries_[stage - 1][i].has_gradient);
  }
  return leaves;
}

// A stage's inputs as Python receives them: None for stage 0, which has its
// own.
py::object given(int stage, const Tensors& inputs) {
  return stage == 0 ? py::none() : py::cast(inputs);
}

bool agrees(const Tensors& outputs, const Boundary& boundary) {
  return std::equal(outputs.begin(), outputs.end(), boundary.begin(),
                    boundary.end(),
                    [](const at::Tensor& output, const TensorSpec& spec) {
                      return output.sizes() == spec.sizes &&
                             output.scalar_type() == spec.dtype;
                    });
}

PayloadPtr PythonCompute::finish(int stage, const py::object& outputs,
                                 PythonStash* stash) {
  Tensors tensors = outputs.cast<Tensors>();
  if (is_last(stage)) {  // the outputs are the loss
    if (stash != nullptr && tensors[0].requires_grad()) {
      stash->roots = std::move(tensors);
    }
    return nullptr;
  }
  const Boundary& boundary = boundaries_[stage];
  if (!agrees(tensors, boundary)) rank_->attr("refuse_shapes")(stage, outputs);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (stash != nullptr && boundary[i].has_gradient) {
      stash->roots.push_back(tensors[i]);
    }
    tensors[i] = tensors[i].detach();
  }
  return std::make_unique<TensorsPayload>(std::move(tensors));
}

ForwardResult PythonCompute::forward(const Work& work,
                                     const WeightsPtr& /*weights*/,
                                     PayloadPtr input, Keep keep) {
  const bool builds = keep == Keep::kGraph;
  auto stash = std::make_unique<PythonStash>();
  if (keep != Keep::kNothing &&
      is_split_[program_.index().gradient(work.stage, work.micro, 0)]) {
    stash->deferred = std::make_shared<WeightGradQueue>();
  }
  Tensors inputs = tensors_in(input);
  if (builds) inputs = stash->leaves = make_leaves(work.stage, inputs);
  const py::gil_scoped_acquire gil;
  if (keep == Keep::kInput) {
    stash->inputs = inputs;
    *stash->random = rank_->attr("random_state")();
  }
  const at::AutoGradMode mode(builds);
  const py::object outputs =
      (*forward_)(work.stage, work.micro, given(work.stage, inputs),
                  stash->deferred, builds);
  ForwardResult made;
  made.output = finish(work.stage, outputs, builds ? stash.get() : nullptr);
  if (keep != Keep::kNothing) made.stash = std::move(stash);
  return made;
}

void PythonCompute::recompute(const Work& work, Stash& stash) {
  auto& kept = dynamic_cast<PythonStash&>(stash);
  kept.leaves = make_leaves(work.stage, std::exchange(kept.inputs, {}));
  const py::gil_scoped_acquire gil;
  const at::AutoGradMode mode(true);
  (void)finish(work.stage,
               rank_->attr("recompute")(work.stage, work.micro,
                                        given(work.stage, kept.leaves),
                                        kept.deferred, *kept.random),
               &kept);
}

// Calls autograd's engine itself. The GIL is taken first so that a Python error
// of the graph is kept in this thread's state.
void run_backward(const Tensors& roots, const Tensors& gradients) {
  const py::gil_scoped_acquire gil;
  try {
    const py::gil_scoped_release released;
    torch::autograd::backward(roots, gradients);
  } catch (const python_error&) {
    throw py::error_already_set();
  }
}

PayloadPtr PythonCompute::backward(const Work& work, Stash& stash,
                                   PayloadPtr gradient) {
  auto& kept = dynamic_cast<PythonStash&>(stash);
  const Tensors roots = std::exchange(kept.roots, {});
  Tensors gradients = tensors_in(gradient);
  if (is_last(work.stage)) {
    for (const at::Tensor& loss : roots) {
      gradients.push_back(at::full_like(loss, share_));
    }
  }
  if (!roots.empty()) run_backward(roots, gradients);
  if (work.stage == 0) return nullptr;
  Tensors passed_on;
  for (const at::Tensor& leaf : std::exchange(kept.leaves, {})) {
    if (!leaf.requires_grad()) continue;
    passed_on.push_back(leaf.grad().defined() ? leaf.grad()
                                              : at::zeros_like(leaf));
  }
  return std::make_unique<TensorsPayload>(std::move(passed_on));
}

void PythonCompute::weight_grad(const Work& /*work*/, Stash& stash) {
  // The GIL is not taken here: queued libtorch work runs beside other threads'
  // Python, and queued Python takes it itself.
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

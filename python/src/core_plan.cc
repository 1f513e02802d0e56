#include <limits>
#include <optional>

#include "chimera/console/values.h"
#include "chimera/plan/layer_costs.h"
#include "chimera/plan/plan_inputs.h"
#include "chimera/plan/plan_text.h"
#include "chimera/plan/planner.h"
#include "core.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// The memory of a worker in bytes: the caller's, or else the profile's.
double memory_of(const std::string& given, const Profile& profile,
                 Values& values) {
  if (!given.empty()) return values.bytes("memory", given).value_or(1);
  if (profile.memory_bytes > 0) return profile.memory_bytes;
  values.refuse({.code = "E402",
                 .found = "memory",
                 .needed = "is missing, and the profile has none",
                 .hint = "for example memory=\"16GB\""});
  return 1;
}

std::string plan(const std::string& model, int workers, int batch,
                 const std::string& memory, const std::string& profile,
                 const std::vector<std::string>& schemes,
                 const std::string& model_of, const std::string& precision,
                 std::optional<int> ranks_per_node) {
  Values values;
  const RunConfig config =
      values.take(read_model(model), read_model("gpt2-tiny").value());
  // An emulated model has no shape and is refused below.
  PlanRequest request = config.model.kind == ModelKind::kEmulated
                            ? PlanRequest{}
                            : request_of(config);
  request.profile =
      values.take(read_profile(profile), read_profile("").value());
  if (ranks_per_node) {
    values.refuse(check_nodes(
        request.profile, "ranks_per_node=" + std::to_string(*ranks_per_node),
        ranks_per_node));
    if (request.profile.node) request.profile.node->ranks = *ranks_per_node;
  }
  if (!precision.empty()) {
    request.precision = static_cast<Precision>(
        values.choice("precision", precision, {"float32", "bf16"}));
  }
  request.workers = workers;
  request.batch = batch;
  request.memory_bytes = memory_of(memory, request.profile, values);
  request.schemes = schemes;
  request.cost_model = static_cast<CostModel>(
      values.choice("model_of", model_of, {"simulate", "paper"}));
  for (const auto& [name, count] :
       {std::pair{"workers", workers}, std::pair{"batch", batch}}) {
    if (count >= 1) continue;
    values.refuse({.code = "E403",
                   .found = std::string(name) + "=" + std::to_string(count),
                   .needed = "must be at least 1"});
  }
  if (config.model.kind == ModelKind::kEmulated) {
    values.refuse({.code = "E604",
                   .where = model,
                   .found = "an emulated model",
                   .needed = "cannot be planned for",
                   .hint = "give a model's shape, or a preset"});
  }
  if (!values.errors().empty()) throw Refused(values.errors());
  const py::gil_scoped_release released;
  return plan_json(request, value_or_raise(make_plans(request)));
}

}  // namespace

void bind_plan(py::module_& module) { module.def("plan", &plan); }

}  // namespace chimera::python

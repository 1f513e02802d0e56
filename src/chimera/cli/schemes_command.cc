// chimera schemes: lists the schemes, their legal values and their costs.
#include <fmt/format.h>

#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

std::string as_text() {
  std::string text =
      "Makespans of one step, messages and sums free; D workers, N "
      "micro-batches,\nF and B the times of a forward and a whole backward. "
      "Peak: activations held\nat once, in D-ths of the model. Weights: "
      "copies of the model.\n";
  for (const Scheme& scheme : schemes()) {
    const std::string alias =
        scheme.alias.empty() ? "" : fmt::format(" (or {})", scheme.alias);
    text += fmt::format(
        "\n{}{}\n  {}\n  legal     {}\n  makespan  {}\n  peak      {}\n"
        "  weights   {}\n",
        scheme.name, alias, scheme.summary, scheme.legal, scheme.makespan,
        scheme.peak, scheme.weights);
  }
  return text;
}

std::string as_json() {
  std::vector<std::string> rows;
  for (const Scheme& scheme : schemes()) {
    const std::string aliases =
        scheme.alias.empty() ? "[]" : "[" + json_string(scheme.alias) + "]";
    rows.push_back(fmt::format(
        R"( {{"name":{},"aliases":{},"summary":{},"legal":{},"makespan":{},)"
        R"("peak_activations":{},"weight_copies":{},"synchronous":{},)"
        R"("defaults":{{"pipes":{},"chunks":{},"shape":"{}"}}}})",
        json_string(scheme.name), aliases, json_string(scheme.summary),
        json_string(scheme.legal), json_string(scheme.makespan),
        json_string(scheme.peak), json_string(scheme.weights),
        scheme.is_synchronous(), scheme.pipes, scheme.chunks,
        name_of(scheme.shape)));
  }
  return "{\"schemes\":[\n" + join(rows, ",\n") + "\n]}\n";
}

}  // namespace

void add_schemes_command(Command& program) {
  Command& command = program.add_command(
      "schemes", "List every scheme: legal values and closed forms");
  const auto format = std::make_shared<std::string>();
  command.add_value("--format", *format, "text (default), json", "FORMAT");
  command.set_footer(
      "Examples:\n"
      "  chimera schemes\n"
      "  chimera schemes --format json\n");
  command.set_work([format](Values& values) -> int {
    const int as = values.choice("--format", *format, {"text", "json"});
    if (!values.errors().empty()) return print_errors(values.errors());
    write_result(as == 0 ? as_text() : as_json(), "");
    return kExitDone;
  });
}

}  // namespace chimera

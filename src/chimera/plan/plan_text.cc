#include "chimera/plan/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/plan/candidates.h"
#include "chimera/plan/model_layers.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

// Units in which a report's times and bytes are readable.
struct Units {
  double time = 1;  // of a second
  const char* time_name = "s";
  double bytes = 1e-9;
  const char* bytes_name = "GB";
};

Units units_of(const Plan& best) {
  Units units;
  if (best.step_s < 0.1) {
    units.time = 1e3;
    units.time_name = "ms";
  }
  if (best.peak.total() < 1e8) {
    units.bytes = 1e-6;
    units.bytes_name = "MB";
  }
  return units;
}

// With a depth of 1 the scheme only says in which order a copy computes.
std::string name_of_plan(const Plan& plan) {
  return is_data_parallel(plan.candidate) ? "data parallel"
                                          : plan.candidate.spec.scheme;
}

std::string layout_of(const Plan& plan) {
  const ScheduleSpec& spec = plan.candidate.spec;
  std::string text =
      fmt::format("{} D={} W={} B={} N={}", name_of_plan(plan), spec.depth,
                  spec.width, plan.candidate.micro_batch, spec.micros);
  if (*spec.pipes > 2) text += fmt::format(" pipes={}", *spec.pipes);
  if (spec.scale != Scale::kDirect)
    text += fmt::format(" {}", name_of(spec.scale));
  if (*spec.chunks > 1) {
    text += fmt::format(
        " {} x{}",
        is_data_parallel(plan.candidate) ? spec.scheme : name_of(*spec.shape),
        *spec.chunks);
  }
  if (spec.cap) text += fmt::format(" cap={}", number(*spec.cap));
  const Recompute recompute = plan.candidate.recompute;
  if (recompute) text += " recompute";
  if (recompute && !recompute.is_all()) text += "=" + text_of(recompute);
  return fmt::format("{} {}", text, name_of(plan.sync));
}

double parameters(const ModelShape& model) {
  double count = 0;
  double tied = 0;
  for (const ModelLayer& layer : layers_of(model)) {
    count += layer.parameters;
    tied = std::max(tied, layer.tied_parameters);
  }
  return count + tied;
}

using NamedTime = std::pair<const char*, double>;

// The parts of a step's time.
std::array<NamedTime, 5> parts_of(const PlanTimes& times) {
  return {{{"compute", times.compute},
           {"recompute", times.recompute},
           {"idle", times.bubble},
           {"message", times.message},
           {"sum", times.sum}}};
}

// Example: "idle +0.31 s, sum +0.02 s, compute -0.01 s", largest first.
std::string difference(const Plan& plan, const Plan& best, const Units& units) {
  auto parts = parts_of(plan.times);
  const auto others = parts_of(best.times);
  for (size_t part = 0; part < parts.size(); ++part) {
    parts[part].second -= others[part].second;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const NamedTime& a, const NamedTime& b) {
                     return std::abs(a.second) > std::abs(b.second);
                   });
  std::vector<std::string> words;
  for (const auto& [name, seconds] : parts) {
    if (std::abs(seconds) < 0.005 * best.step_s) continue;
    words.push_back(fmt::format("{} {:+.3f} {}", name, seconds * units.time,
                                units.time_name));
  }
  return words.empty() ? "nearly the same" : join(words, ", ");
}

// Examples: 950, 12.3k, 4.56M, 1.39G.
std::string short_number(double value) {
  if (value >= 1e9) return fmt::format("{:.2f}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

// Tokens/s and MFU of a plan. MFU counts only the model's own operations, not
// recomputation.
std::string speed_text(const PlanHeadline& headline, const PlanRequest& request,
                       const Plan& plan) {
  double flops = 0;
  for (const ModelLayer& layer : layers_of(request.model)) {
    flops += 3 * forward_flops(layer.shape).total();
  }
  const double per_worker =
      flops * request.batch / plan.step_s / request.workers;
  std::string text =
      fmt::format("          {} tokens/s, {:.2f} TFLOP/s a worker",
                  short_number(request.batch / plan.step_s * request.model.seq),
                  per_worker / 1e12);
  if (headline.peak_flops) {
    text += fmt::format(" (MFU {:.1f} % of {:.1f})",
                        100 * per_worker / *headline.peak_flops,
                        *headline.peak_flops / 1e12);
  }
  return text + "\n";
}

std::string winner_text(const PlanHeadline& headline,
                        const PlanRequest& request, const Plan& plan) {
  const PlanTimes& times = plan.times;
  const WorkerBytes& peak = plan.peak;
  const Units units = units_of(plan);
  const auto shown_bytes = [&](double bytes) {
    return fmt::format("{:.2f}", bytes * units.bytes);
  };
  const auto shown_time = [&](double seconds) {
    return fmt::format("{:.3f}", seconds * units.time);
  };
  std::string text = fmt::format(
      "best      {}\n"
      "step      {} {}, {:.1f} samples/s, bubble {:.1f} % (workers not "
      "computing)\n"
      "{}"
      "          compute {} + recompute {} + idle by the order {} + message {} "
      "+ sum {} {}\n",
      layout_of(plan), shown_time(plan.step_s), units.time_name,
      request.batch / plan.step_s, 100 * plan.bubble_ratio,
      speed_text(headline, request, plan), shown_time(times.compute),
      shown_time(times.recompute), shown_time(times.bubble),
      shown_time(times.message), shown_time(times.sum), units.time_name);
  text += fmt::format(
      "memory    {} {} of {} on the fullest worker: weights {}, gradients {},\n"
      "          optimizer {}, activations {}, buffers {}, workspace {}",
      shown_bytes(peak.total()), units.bytes_name,
      shown_bytes(request.memory_bytes), shown_bytes(peak.weights),
      shown_bytes(peak.gradients), shown_bytes(peak.optimizer),
      shown_bytes(peak.activations), shown_bytes(peak.boundary),
      shown_bytes(peak.workspace));
  if (peak.checkpoint > 0)
    text += ", checkpoint " + shown_bytes(peak.checkpoint);
  if (peak.undo > 0) text += ", undo " + shown_bytes(peak.undo);
  return text + '\n';
}

std::string runners_up(const PlanRequest& request, const PlanReport& report) {
  const Plan& best = report.plans[0];
  if (report.plans.size() == 1) return "";
  const Units units = units_of(best);
  std::string text = fmt::format(
      "\n{:>9} {:>6} {:>10} {:>7} {:>7}  best of each scheme, and "
      "what it loses to\n",
      fmt::format("step {}", units.time_name), "times", "samples/s", "bubble",
      units.bytes_name);
  for (const Plan& plan : report.plans) {
    text += fmt::format("{:9.3f} {:6.2f} {:10.1f} {:6.1f}% {:7.2f}  {}\n",
                        plan.step_s * units.time, plan.step_s / best.step_s,
                        request.batch / plan.step_s, 100 * plan.bubble_ratio,
                        plan.peak.total() * units.bytes, layout_of(plan));
    if (&plan == &best) continue;
    text += fmt::format("{:46}{}\n", "", difference(plan, best, units));
  }
  return text +
         "\nD stages, W copies, N micro-batches of B samples each; x2: chunks "
         "of a worker; cap:\nactivations that it may hold; eager, eager-opt, "
         "end: when gradient sums start\n";
}

// Explains why some schemes are not in the table.
std::string missing_schemes(const PlanRequest& request,
                            const PlanReport& report) {
  const Result<std::vector<Candidate>> candidates = candidates_of(request);
  if (!candidates || request.workers == 1) return "";
  std::vector<std::string> illegal;
  std::vector<std::string> too_large;
  std::vector<std::string> stale;
  for (const Scheme& scheme : schemes()) {
    const std::string name(scheme.name);
    const auto is_it = [&](const Candidate& candidate) {
      return candidate.spec.scheme == name && !is_data_parallel(candidate);
    };
    const bool is_planned =
        std::any_of(report.plans.begin(), report.plans.end(),
                    [&](const Plan& plan) { return is_it(plan.candidate); });
    if (is_planned || !request.schemes.empty()) continue;
    const bool is_legal =
        std::any_of(candidates->begin(), candidates->end(), is_it);
    (!scheme.is_synchronous() ? stale
     : is_legal               ? too_large
                              : illegal)
        .push_back(name);
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const char* why) {
    if (names.empty()) return;
    text += fmt::format("  {}: {}\n", join(names, ", "), why);
  };
  add(too_large, "no layout fits the memory");
  add(illegal, "no legal pipeline for these workers and samples");
  add(stale, "trains with stale weights; --schemes takes it in");
  return text.empty() ? "" : "\nNot in the table:\n" + text;
}

constexpr const char* kChangeNames[] = {"slower_links", "faster_links",
                                        "smaller_batch", "larger_batch"};

std::string condition(const PlanChange& change) {
  using What = PlanChange::What;
  switch (change.what) {
    case What::kSlowerLinks:
      return fmt::format("links {} times as slow", number(change.factor));
    case What::kFasterLinks:
      return fmt::format("links {} times as fast", number(change.factor));
    case What::kSmallerBatch:
      return "half the batch";
    case What::kLargerBatch:
      return "twice the batch";
  }
  return "";
}

std::string what_would_change(const PlanReport& report) {
  const Units units = units_of(report.plans[0]);
  std::string text;
  for (const Plan& plan : report.too_large) {
    text += fmt::format(
        "  {:.2f} {} a worker: {} takes {:.3f} {} ({:.2f} times as fast)\n",
        plan.peak.total() * units.bytes, units.bytes_name, layout_of(plan),
        plan.step_s * units.time, units.time_name,
        report.plans[0].step_s / plan.step_s);
  }
  for (const PlanChange& change : report.changes) {
    text += fmt::format("  {}: {} is ahead, {:.3f} {}", condition(change),
                        layout_of(report.plans[change.plan]),
                        change.step_s * units.time, units.time_name);
    text += change.first_step_s ? fmt::format(" against {:.3f}\n",
                                              *change.first_step_s * units.time)
                                : ", where the best is not possible\n";
  }
  const bool is_planned = report.plans[0].order.has_value();
  if (is_planned && !report.changes.empty()) {
    text +=
        "  (planned orders are not searched for anew here: plan for the other "
        "links to be sure)\n";
  }
  if (!text.empty()) return "\nWhat would change the choice:\n" + text;
  return fmt::format(
      "\nNeither more memory nor links up to 16 times as slow or fast{}\nwould "
      "change the choice among these.\n",
      is_planned ? "" : ", nor half or twice the batch");
}

std::string changes_json(const PlanReport& report) {
  std::vector<std::string> rows;
  for (const PlanChange& change : report.changes) {
    rows.push_back(fmt::format(
        R"({{"what":"{}","factor":{},"plan":{},"step_s":{},"best_step_s":{}}})",
        kChangeNames[static_cast<int>(change.what)], number(change.factor),
        change.plan, number(change.step_s),
        change.first_step_s ? number(*change.first_step_s) : "null"));
  }
  return "[" + join(rows, ",") + "]";
}

std::string list_of(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const int each : numbers) words.push_back(std::to_string(each));
  return "[" + join(words, ",") + "]";
}

std::string times_json(const PlanTimes& times) {
  return fmt::format(
      R"({{"bubble":{},"message":{},"sum":{},"recompute":{},"memory":{}}})",
      number(times.bubble), number(times.message), number(times.sum),
      number(times.recompute), number(times.memory));
}

std::string bytes_json(const WorkerBytes& bytes) {
  return fmt::format(
      R"({{"weights":{:.0f},"gradients":{:.0f},"optimizer":{:.0f},)"
      R"("activations":{:.0f},"boundary":{:.0f},"workspace":{:.0f},)"
      R"("checkpoint":{:.0f},"undo":{:.0f}}})",
      bytes.weights, bytes.gradients, bytes.optimizer, bytes.activations,
      bytes.boundary, bytes.workspace, bytes.checkpoint, bytes.undo);
}

std::string one_json(const PlanRequest& request, const Plan& plan) {
  const ScheduleSpec& spec = plan.candidate.spec;
  const std::string cap =
      spec.cap ? fmt::format("\"cap\":{},", number(*spec.cap)) : "";
  return fmt::format(
      R"({{"scheme":{},"name":{},"depth":{},"width":{},"pipes":{},"scale":"{}",)"
      R"("chunks":{},"shape":"{}",{}"micro_batch":{},"micros":{},)"
      R"("recompute":{},"sync":"{}","step_s":{},"samples_per_s":{},)"
      R"("bubble_ratio":{},"compute_s":{},"peak_bytes":{:.0f},"bytes":{},)"
      R"("losses":{},"cut":{}}})",
      json_string(spec.scheme), json_string(name_of_plan(plan)), spec.depth,
      spec.width, *spec.pipes, name_of(spec.scale), *spec.chunks,
      name_of(*spec.shape), cap, plan.candidate.micro_batch, spec.micros,
      text_of(plan.candidate.recompute), name_of(plan.sync),
      number(plan.step_s), number(request.batch / plan.step_s),
      number(plan.bubble_ratio), number(plan.times.compute), plan.peak.total(),
      bytes_json(plan.peak), times_json(plan.times), list_of(plan.cut));
}

std::string rows_json(const PlanRequest& request,
                      const std::vector<Plan>& plans) {
  std::vector<std::string> rows;
  rows.reserve(plans.size());
  for (const Plan& plan : plans) rows.push_back(" " + one_json(request, plan));
  return rows.empty() ? "[]" : "[\n" + join(rows, ",\n") + "\n]";
}

// Example: "nodes     8 workers each; links 5 us, 360 GB/s within a node, 10
// us, 40 GB/s between". Empty without nodes.
std::string nodes_text(const Profile& profile) {
  if (!profile.node) return "";
  const auto link = [](double latency_s, double s_per_byte) {
    const std::string rate =
        s_per_byte > 0 ? number(1e-9 / s_per_byte) + " GB/s" : "unlimited";
    return fmt::format("{} us, {}", number(latency_s * 1e6), rate);
  };
  return fmt::format(
      "nodes     {} workers each{}; links {} within a node, {} between\n",
      profile.node->ranks,
      profile.node->distribution == Distribution::kBlock
          ? ""
          : ", dealt out in turns (srun --distribution=cyclic, mpirun "
            "--map-by node)",
      link(profile.node->latency_s, profile.node->s_per_byte),
      link(profile.link.latency_s, profile.link.s_per_byte));
}

}  // namespace

std::string plan_text(const PlanHeadline& headline, const PlanRequest& request,
                      const PlanReport& report) {
  const char* judge = request.cost_model == CostModel::kSimulate
                          ? "the simulator"
                          : "the paper's formula";
  return fmt::format(
             "{}, {} parameters, on {} workers, {} samples a step, in {}, by "
             "{}\n"
             "profile   {}; block times: {}\n{}"
             "searched  {} layouts, {} of them judged, the others ruled out by "
             "bounds or memory\n\n",
             headline.model, short_number(parameters(request.model)),
             request.workers, request.batch, name_of(request.precision), judge,
             headline.profile, headline.block_times,
             nodes_text(request.profile), report.candidates, report.judged) +
         winner_text(headline, request, report.plans[0]) +
         runners_up(request, report) + missing_schemes(request, report) +
         what_would_change(report);
}

std::string plan_json(const PlanRequest& request, const PlanReport& report) {
  return fmt::format(
      "{{\"plans\":{},\n\"too_large\":{},\n\"changes\":{},\n"
      "\"candidates\":{},\"judged\":{}}}\n",
      rows_json(request, report.plans), rows_json(request, report.too_large),
      changes_json(report), report.candidates, report.judged);
}

}  // namespace chimera

// Letters of the paper: P workers = W copies x D stages; G samples per step = W
// copies x N micro-batches of B samples.
#include "chimera/plan/candidates.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "chimera/base/text.h"
#include "chimera/plan/paper_model.h"

namespace chimera {
namespace {

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (std::int64_t low = 1; low * low <= number; ++low) {
    if (number % low != 0) continue;
    found.push_back(static_cast<int>(low));
    if (low * low != number) found.push_back(static_cast<int>(number / low));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The depths by which P workers and G samples can be divided evenly.
std::vector<int> depths(const PlanRequest& request, int workers, int batch) {
  std::vector<int> found;
  for (const int depth : divisors(workers)) {
    if (depth > num_layers(request.model)) break;
    if (batch % (workers / depth) == 0) found.push_back(depth);
  }
  return found;
}

// The number >= 1 nearest to `start` for which `works` is true; 0 if there is
// none up to 2 * `start`.
template <class Works>
int nearest(int start, const Works& works) {
  constexpr int kFarthest = 1 << 20;
  const int reach = std::min(start, kFarthest);
  for (int distance = 1; distance <= reach; ++distance) {
    if (start - distance >= 1 && works(start - distance)) {
      return start - distance;
    }
    if (works(start + distance)) return start + distance;
  }
  return 0;
}

Diagnostic no_depth(const PlanRequest& request) {
  const int workers = request.workers, batch = request.batch;
  const std::int64_t most = std::int64_t{num_layers(request.model)} * batch;
  const int start = static_cast<int>(std::min<std::int64_t>(workers, most + 1));
  const int other_workers = nearest(start, [&](int number) {
    return !depths(request, number, batch).empty();
  });
  int other_batch = 0;
  for (const int depth : divisors(workers)) {
    if (depth > num_layers(request.model)) break;
    const int copies = workers / depth;
    const int below = batch / copies * copies;
    for (const int near : {below, below + copies}) {
      const bool nearer = other_batch == 0 || std::abs(near - batch) <
                                                  std::abs(other_batch - batch);
      if (near > 0 && nearer) other_batch = near;
    }
  }
  const std::string hint = "use --batch " + std::to_string(other_batch) +
                           " or --workers " + std::to_string(other_workers);
  const std::string asked = std::to_string(workers) +
                            " workers for a batch of " + std::to_string(batch);
  if (workers > most) {
    return {.code = "E612",
            .found = asked,
            .needed = "are too many: the model's " +
                      std::to_string(num_layers(request.model)) +
                      " layers and a sample for each copy occupy at most " +
                      std::to_string(most),
            .hint = hint};
  }
  return {.code = "E610",
          .found = asked,
          .needed =
              "cannot be dealt evenly: workers / depth must divide the "
              "batch for a depth of at most " +
              std::to_string(num_layers(request.model)) + " (the layers)",
          .hint = hint};
}

class SchemeSpace {
 public:
  SchemeSpace(const PlanRequest& request, const Scheme& scheme,
              std::vector<Candidate>& out)
      : request_(request), scheme_(scheme), out_(out) {}

  void add(int depth, int width, int micro_batch, int micros) {
    micro_batch_ = micro_batch;
    ScheduleSpec spec{.scheme = std::string(scheme_.name),
                      .depth = depth,
                      .micros = micros,
                      .width = width};
    for (const int pipes : pipe_choices(depth)) {
      spec.pipes = pipes;
      add_scales(spec);
    }
  }

 private:
  [[nodiscard]] std::vector<int> pipe_choices(int depth) const {
    if (!scheme_.any_pipes) return {scheme_.pipes};
    std::vector<int> choices;
    // Planned orders may have a single pipe.
    if (scheme_.any_cap) choices.push_back(1);
    for (const int half : divisors(depth / 2)) choices.push_back(2 * half);
    return choices;
  }

  void add_scales(ScheduleSpec spec) {
    add_chunks(spec);
    if (!scheme_.any_scale || *spec.pipes != 2) return;
    if (spec.micros >= 2 * spec.depth) {
      spec.scale = Scale::kDoubling;
      add_chunks(spec);
    }
    if (micro_batch_ % 2 == 0) {
      spec.scale = Scale::kHalving;
      add_chunks(spec);
    }
  }

  void add_chunks(ScheduleSpec spec) {
    spec.chunks = scheme_.chunks;
    spec.shape = scheme_.shape;
    add_recompute(spec);
    if (scheme_.any_shape) {
      // On one worker all shapes are the same. A wave of two chunks is a vee.
      add_more_chunks(spec, Shape::kLoop, 2);
      if (spec.depth == 1) return;
      spec.chunks = 2;
      spec.shape = Shape::kVee;
      add_recompute(spec);
      add_more_chunks(spec, Shape::kWave, 3);
    } else if (scheme_.any_chunks) {
      add_more_chunks(spec, scheme_.shape, scheme_.chunks + 1);
    }
  }

  void add_more_chunks(ScheduleSpec spec, Shape shape, int from) {
    spec.shape = shape;
    const int most = num_layers(request_.model) / spec.depth;
    for (int chunks = from; chunks <= most; ++chunks) {
      spec.chunks = chunks;
      add_recompute(spec);
    }
  }

  void add_recompute(const ScheduleSpec& spec) {
    if (*spec.chunks * spec.depth > num_layers(request_.model)) return;
    constexpr std::int64_t kMostForwards = 1 << 20;
    if (std::int64_t{*spec.chunks} * spec.depth * spec.micros > kMostForwards) {
      return;
    }
    if (!resolve(spec)) return;
    if (is_known_copy(spec)) return;
    if (request_.cost_model == CostModel::kPaper && !path_counts(spec)) return;
    out_.push_back({spec, micro_batch_, false});
    out_.push_back({spec, micro_batch_, true});
  }

  // On one worker with one chunk all schemes take equally long.
  [[nodiscard]] bool is_known_copy(const ScheduleSpec& spec) const {
    if (spec.depth > 1 || *spec.chunks > 1) return false;
    return std::any_of(out_.begin(), out_.end(), [&](const Candidate& other) {
      return other.spec.depth == 1 && *other.spec.chunks == 1 &&
             other.micro_batch == micro_batch_;
    });
  }

  const PlanRequest& request_;
  const Scheme& scheme_;
  std::vector<Candidate>& out_;
  int micro_batch_ = 1;
};

Result<std::vector<const Scheme*>> schemes_of(const PlanRequest& request) {
  std::vector<const Scheme*> found;
  Diagnostics errors;
  for (const std::string& name : request.schemes) {
    const Scheme* scheme = find_scheme(name);
    if (scheme == nullptr) {
      const std::string near = nearest_name(name, scheme_names());
      errors.push_back({.code = "E603",
                        .found = "scheme \"" + shown(name) + "\"",
                        .needed = "is not known",
                        .hint = near.empty()
                                    ? "one of " + join(scheme_names(), ", ")
                                    : "did you mean \"" + near + "\"?"});
    } else if (!scheme->is_synchronous() && request.model.tie_embeddings) {
      errors.push_back({.code = "E603",
                        .found = "scheme \"" + name + "\"",
                        .needed = "cannot train tied embeddings",
                        .hint = "set model.tie_embeddings = false"});
    } else if (!scheme->is_synchronous() && request.vote_gates_update) {
      errors.push_back({.code = "E603",
                        .found = "scheme \"" + name + "\"",
                        .needed = "cannot clip gradients or skip an update, as "
                                  "its stages update at different times",
                        .hint = "set train.clip = 0 and train.on_nan = "
                                "\"stop\""});
    } else if (std::find(found.begin(), found.end(), scheme) == found.end()) {
      found.push_back(scheme);
    }
  }
  if (!errors.empty()) return errors;
  if (!request.schemes.empty()) return found;
  for (const Scheme& scheme : schemes()) {
    if (scheme.is_synchronous()) found.push_back(&scheme);
  }
  return found;
}

}  // namespace

Result<std::vector<Candidate>> candidates_of(const PlanRequest& request) {
  const Result<std::vector<const Scheme*>> asked = schemes_of(request);
  if (!asked) return asked.errors();
  const std::vector<int> all_depths =
      depths(request, request.workers, request.batch);
  if (all_depths.empty()) return no_depth(request);
  // 1f1b comes first, so that it wins against schemes of equal time.
  std::vector<const Scheme*> chosen = *asked;
  std::stable_partition(chosen.begin(), chosen.end(), [](const Scheme* scheme) {
    return scheme->name == "1f1b";
  });
  std::vector<Candidate> candidates;
  for (const Scheme* scheme : chosen) {
    SchemeSpace space(request, *scheme, candidates);
    for (const int depth : all_depths) {
      const int width = request.workers / depth;
      const int share = request.batch / width;
      for (const int micro_batch : divisors(share)) {
        space.add(depth, width, micro_batch, share / micro_batch);
      }
    }
  }
  if (candidates.empty()) {
    return Diagnostic{
        .code = "E613",
        .found = "no scheme of those asked for",
        .needed = std::string(request.cost_model == CostModel::kPaper
                                  ? "has a formula in the paper and "
                                  : "has ") +
                  "a legal layout of " + std::to_string(request.workers) +
                  " workers and a batch of " + std::to_string(request.batch),
        .hint = "1f1b takes every depth and number of micro-batches"};
  }
  return candidates;
}

}  // namespace chimera

#include "chimera/schedule/scheme.h"

#include <algorithm>
#include <cstdint>

#include "chimera/base/text.h"
#include "chimera/schedule/orders/orders.h"

namespace chimera {

const std::vector<Scheme>& schemes() {
  static const std::vector<Scheme> kSchemes = {
      gpipe(),      one_f_one_b(),   interleaved(),    gems(),
      pipedream(),  pipedream_2bw(), chimera_scheme(), zb_h1(),
      zb_h2(),      zb_v(),          dualpipe(),       dualpipe_v(),
      hanayo(),     v_half(),        v_min(),          one_f_one_b_vee(),
      looped_bfs(), bitpipe(),       planned_scheme(),
  };
  return kSchemes;
}

const Scheme* find_scheme(std::string_view name) {
  for (const Scheme& scheme : schemes()) {
    if (name == scheme.name) return &scheme;
    if (!scheme.alias.empty() && name == scheme.alias) return &scheme;
  }
  return nullptr;
}

UpdateRule updates_of(std::string_view scheme) {
  const Scheme* known = find_scheme(scheme);
  return known == nullptr ? UpdateRule::kEndOfStep : known->updates;
}

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const Scheme& scheme : schemes()) {
    names.emplace_back(scheme.name);
    if (!scheme.alias.empty()) names.emplace_back(scheme.alias);
  }
  return names;
}

namespace {

// Largest number of forwards in a schedule. Beyond it the lists would take
// gigabytes; 2,048 workers x 64 micro-batches are 2^17, far below.
constexpr std::int64_t kMostForwards = std::int64_t{1} << 23;

Diagnostic unknown_scheme(const std::string& name) {
  const std::string near = nearest_name(name, scheme_names());
  return {.code = "E201",
          .found = "scheme \"" + shown(name) + "\"",
          .needed = "is not known",
          .hint = near.empty() ? "one of " + join(scheme_names(), ", ")
                               : "did you mean \"" + near + "\"?"};
}

Diagnostic fixed(const char* code, const std::string& found,
                 const Scheme& scheme, const std::string& value) {
  return {.code = code,
          .found = found,
          .needed = "is not possible: " + std::string(scheme.name) +
                    " always has " + value,
          .hint = "leave it out"};
}

void refuse_counts(const ScheduleSpec& spec, int chunks, Diagnostics& errors) {
  const auto positive = [&](const char* code, const char* name, int value) {
    if (value >= 1) return;
    errors.push_back(
        {.code = code,
         .found = std::string(name) + " = " + std::to_string(value),
         .needed = "must be at least 1"});
  };
  positive("E202", "depth", spec.depth);
  positive("E203", "micros", spec.micros);
  positive("E205", "chunks", chunks);
  positive("E208", "width", spec.width);
  if (!errors.empty()) return;
  // Checked one factor at a time, because the product may exceed 64 bits.
  const std::int64_t stages = std::int64_t{spec.depth} * chunks;
  if (std::int64_t{spec.depth} * spec.width > kMostWorkers) {
    errors.push_back({.code = "E209",
                      .found = "depth x width = " + std::to_string(spec.depth) +
                               " x " + std::to_string(spec.width),
                      .needed = "is too large; the most is " +
                                std::to_string(kMostWorkers) + " workers",
                      .hint = "use a smaller depth or width"});
  }
  if (stages > kMostForwards || stages * spec.micros > kMostForwards) {
    errors.push_back(
        {.code = "E209",
         .found = "depth x chunks x micros = " + std::to_string(spec.depth) +
                  " x " + std::to_string(chunks) + " x " +
                  std::to_string(spec.micros),
         .needed = "is too large; the most is " +
                   std::to_string(kMostForwards) + " forwards"});
  }
}

// Refuses flags that the scheme does not accept.
void refuse_flags(const ScheduleSpec& spec, const Scheme& scheme,
                  const Layout& layout, Diagnostics& errors) {
  if (!scheme.any_pipes && layout.pipes != scheme.pipes) {
    errors.push_back(fixed("E204", "pipes = " + std::to_string(layout.pipes),
                           scheme, std::to_string(scheme.pipes)));
  }
  if (!scheme.any_chunks && layout.chunks != scheme.chunks) {
    errors.push_back(fixed("E205", "chunks = " + std::to_string(layout.chunks),
                           scheme, std::to_string(scheme.chunks)));
  } else if (scheme.any_chunks && !scheme.any_shape && layout.chunks < 2) {
    errors.push_back(
        {.code = "E205",
         .found = "chunks = " + std::to_string(layout.chunks),
         .needed = "must be at least 2 for " + std::string(scheme.name),
         .hint = "use 2"});
  }
  if (!scheme.any_shape && layout.shape != scheme.shape) {
    errors.push_back(fixed("E206",
                           "shape " + std::string(name_of(layout.shape)),
                           scheme, std::string(name_of(scheme.shape))));
  }
  if (!scheme.any_scale && spec.scale != Scale::kDirect) {
    errors.push_back({.code = "E207",
                      .found = "scale " + std::string(name_of(spec.scale)),
                      .needed = "is for chimera only",
                      .hint = "leave it out"});
  }
}

// Applies the scheme's rules. They divide by depth, so depth must be legal
// first. If micros is refused already, its further refusals are dropped.
void refuse_by_rules(const Scheme& scheme, Layout layout, Diagnostics& errors) {
  if (layout.depth < 1 || scheme.refuse == nullptr) return;
  const bool micros_refused = layout.micros < 1;
  layout.micros = std::max(layout.micros, 1);
  for (Diagnostic& error : scheme.refuse(layout)) {
    if (micros_refused && error.code == "E203") continue;
    errors.push_back(std::move(error));
  }
}

}  // namespace

namespace {

Layout with_defaults(const ScheduleSpec& spec, const Scheme& scheme) {
  Layout layout{.depth = spec.depth,
                .micros = spec.micros,
                .pipes = spec.pipes.value_or(scheme.pipes),
                .shape = spec.shape.value_or(scheme.shape),
                .scale = spec.scale,
                .cap = spec.cap};
  const bool other_shape = layout.shape != scheme.shape;
  // A shape other than the scheme's own needs chunks: two, if the user does not
  // say how many.
  layout.chunks = spec.chunks.value_or(other_shape ? 2 : scheme.chunks);
  if (scheme.any_cap && !layout.cap) {
    layout.cap = std::max(layout.depth, layout.pipes);
  }
  return layout;
}

}  // namespace

Result<Layout> resolve(const ScheduleSpec& spec) {
  const Scheme* scheme = find_scheme(spec.scheme);
  if (scheme == nullptr) {
    Diagnostics errors{unknown_scheme(spec.scheme)};
    refuse_counts(spec, spec.chunks.value_or(1), errors);
    return errors;
  }
  Diagnostics errors;
  const Layout layout = with_defaults(spec, *scheme);
  refuse_counts(spec, layout.chunks, errors);
  refuse_flags(spec, *scheme, layout, errors);
  refuse_by_rules(*scheme, layout, errors);
  if (!errors.empty()) return errors;
  return layout;
}

Result<Schedule> make_schedule(const ScheduleSpec& spec) {
  const Result<Layout> layout = resolve(spec);
  if (!layout) return layout.errors();
  const Scheme& scheme = *find_scheme(spec.scheme);
  Schedule schedule;
  schedule.scheme = scheme.name;
  schedule.updates = scheme.updates;
  schedule.depth = layout->depth;
  schedule.micros = layout->micros;
  schedule.width = spec.width;
  schedule.parts = layout->scale == Scale::kHalving ? 2 : 1;
  schedule.placement = scheme.place(*layout);
  schedule.actions = scheme.order(*layout, schedule.placement);
  return schedule;
}

}  // namespace chimera

// A scheme is a placement and an order under one name. To add one: write
// orders/<name>.cc, add its line to the registry in scheme.cc, add a golden
// file. docs/adding-a-schedule.md explains each step.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/names.h"
#include "chimera/base/result.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// How Chimera schedules N > D micro-batches (Li & Hoefler, SC'21, section 3.5).
enum class Scale { kDirect, kDoubling, kHalving };
inline constexpr auto kScaleNames =
    std::to_array<std::string_view>({"direct", "doubling", "halving"});
constexpr Names names_of(Scale) { return kScaleNames; }

// How the stages of one pipe are laid over the workers.
enum class Shape { kLinear, kLoop, kVee, kWave };
inline constexpr auto kShapeNames =
    std::to_array<std::string_view>({"linear", "loop", "vee", "wave"});
constexpr Names names_of(Shape) { return kShapeNames; }

// The schedule a user asks for. Absent values take the scheme's default.
struct ScheduleSpec {
  std::string scheme;
  int depth = 0;   // 0: not given
  int micros = 0;  // 0: not given
  std::optional<int> pipes;
  Scale scale = Scale::kDirect;
  std::optional<int> chunks;
  std::optional<Shape> shape;
  // The most activations a worker may hold, in D-ths of the model.
  std::optional<double> cap;
  int width = 1;

  bool operator==(const ScheduleSpec&) const = default;
};

// A ScheduleSpec with every value filled in and known to be legal. D, N, f and
// v are the letters of the papers, used in orders/ and placements/.
struct Layout {
  int depth = 0;   // D
  int micros = 0;  // N
  int pipes = 1;   // 2f
  int chunks = 1;  // v
  Shape shape = Shape::kLinear;
  Scale scale = Scale::kDirect;
  // In D-ths of the model. Set for every scheme whose order depends on it; for
  // the others it is only checked.
  std::optional<double> cap = {};
};

struct Scheme {
  std::string_view name = {};
  std::string_view alias = {};  // may be empty
  std::string_view summary = {};
  // Legal values and closed forms, shown by `chimera schemes`.
  std::string_view legal = {};
  std::string_view makespan = {};
  std::string_view peak = {};
  std::string_view weights = {};

  // Values if the user gives none.
  int pipes = 1;
  int chunks = 1;
  Shape shape = Shape::kLinear;
  // True: the scheme accepts values other than the default.
  bool any_pipes = false;
  bool any_chunks = false;
  bool any_scale = false;
  bool any_shape = false;
  // True: the order depends on the cap, which defaults to D.
  bool any_cap = false;
  UpdateRule updates = UpdateRule::kEndOfStep;

  [[nodiscard]] bool is_synchronous() const {
    return updates == UpdateRule::kEndOfStep;
  }

  // Returns every further reason why `layout` is illegal for this scheme. Null:
  // there is none.
  Diagnostics (*refuse)(const Layout& layout) = nullptr;
  Placement (*place)(const Layout& layout) = nullptr;
  ActionLists (*order)(const Layout& layout,
                       const Placement& placement) = nullptr;
};

// All schemes, in the order of `chimera schemes`.
[[nodiscard]] const std::vector<Scheme>& schemes();

// The scheme of that name or alias; nullptr if there is none.
[[nodiscard]] const Scheme* find_scheme(std::string_view name);

// The update rule of a scheme, for text forms, which store only the scheme's
// name. Unknown schemes update at the end of the step.
[[nodiscard]] UpdateRule updates_of(std::string_view scheme);

// Every name and alias, for messages and completion.
[[nodiscard]] std::vector<std::string> scheme_names();

// The layout that `spec` asks for, or every reason why it is illegal, each with
// the nearest legal values.
[[nodiscard]] Result<Layout> resolve(const ScheduleSpec& spec);

// The compute-only schedule for `spec`.
[[nodiscard]] Result<Schedule> make_schedule(const ScheduleSpec& spec);

}  // namespace chimera

// A curve of bounded size, however long the run is. Steps are kept in groups of
// equal size. Each group keeps its lowest and its highest point unchanged, so
// no spike is lost. When there are too many groups, pairs of them are merged.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace chimera {

struct CurvePoint {
  int step = 0;
  double value = 0;

  bool operator==(const CurvePoint&) const = default;
};

class Curve {
 public:
  // REQUIRES: most_groups is even and at least 2.
  explicit Curve(std::size_t most_groups = 2048) : most_groups_(most_groups) {}

  // REQUIRES: step >= 0 and `value` is finite.
  void add(int step, double value);

  // The lowest and highest point of each group, in order of step; all are
  // points that were added. Groups that end before `from` are left out.
  [[nodiscard]] std::vector<CurvePoint> points(int from = 0) const;

  // First step of the group that `step` belongs to. Points before it do not
  // change when `step` or a later one is added, unless group_size changes.
  [[nodiscard]] int group_start(int step) const {
    return step / group_size_ * group_size_;
  }
  // Steps per group: 1 as long as every point is kept.
  [[nodiscard]] int group_size() const { return group_size_; }
  [[nodiscard]] bool empty() const { return !newest_; }
  // True if all values are 0, as the loss of emulated runs is.
  [[nodiscard]] bool is_flat_zero() const { return is_flat_zero_; }
  // REQUIRES: not empty.
  [[nodiscard]] CurvePoint newest() const { return *newest_; }
  [[nodiscard]] CurvePoint lowest() const { return *lowest_; }
  [[nodiscard]] double mean() const {
    return sum_ / static_cast<double>(count_);
  }

 private:
  struct Group {
    CurvePoint low;
    CurvePoint high;
    bool is_used = false;
  };

  static void merge(Group& into, const Group& other);
  void halve();

  std::size_t most_groups_;
  int group_size_ = 1;
  std::vector<Group> groups_;  // [step / group_size_]
  std::optional<CurvePoint> newest_;
  std::optional<CurvePoint> lowest_;
  bool is_flat_zero_ = true;
  double sum_ = 0;
  std::size_t count_ = 0;
};

}  // namespace chimera

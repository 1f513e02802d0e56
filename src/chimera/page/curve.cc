#include "chimera/page/curve.h"

#include "chimera/base/check.h"

namespace chimera {

void Curve::merge(Group& into, const Group& other) {
  if (!other.is_used) return;
  if (!into.is_used) {
    into = other;
    return;
  }
  if (other.low.value < into.low.value) into.low = other.low;
  if (other.high.value > into.high.value) into.high = other.high;
}

void Curve::halve() {
  group_size_ *= 2;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group group = groups_[i];
    if (i % 2 == 0) groups_[i / 2] = Group{};
    merge(groups_[i / 2], group);
  }
  groups_.resize((groups_.size() + 1) / 2);
}

void Curve::add(int step, double value) {
  CHIMERA_CHECK(step >= 0, "a step of a curve is below 0");
  const auto index = [&] {
    return static_cast<std::size_t>(step / group_size_);
  };
  while (index() >= most_groups_) halve();
  if (groups_.size() <= index()) groups_.resize(index() + 1);
  const CurvePoint point{step, value};
  merge(groups_[index()], {point, point, true});
  newest_ = point;
  is_flat_zero_ = is_flat_zero_ && value == 0;
  sum_ += value;
  ++count_;
  if (!lowest_ || value < lowest_->value) lowest_ = point;
}

std::vector<CurvePoint> Curve::points(int from) const {
  std::vector<CurvePoint> points;
  const auto first = static_cast<std::size_t>(from / group_size_);
  for (std::size_t i = first; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (!group.is_used) continue;
    const bool low_first = group.low.step <= group.high.step;
    points.push_back(low_first ? group.low : group.high);
    if (group.low == group.high) continue;
    points.push_back(low_first ? group.high : group.low);
  }
  return points;
}

}  // namespace chimera

#include "chimera/schedule/cell.h"

#include <charconv>
#include <limits>

namespace chimera {

std::string to_cell(const Action& action) {
  std::string text;
  const int number = action.op == Op::kG ? action.group : action.stage;
  if (number != kNone) text += std::to_string(number);
  text += op_name(action.op);
  if (action.micro != kNone) text += std::to_string(action.micro);
  if (action.part != 0) text += "." + std::to_string(action.part);
  if (action.pipe > 0) text += "@" + std::to_string(action.pipe);
  if (action.peer != kNone) {
    text += (is_send(action.op) ? ">" : "<") + std::to_string(action.peer);
  }
  if (action.step != 0) text += "~" + std::to_string(-action.step);
  return text;
}

std::optional<Op> parse_op(std::string_view name) {
  for (int op = 0; op < kNumOps; ++op) {
    if (name == op_name(static_cast<Op>(op))) return static_cast<Op>(op);
  }
  return std::nullopt;
}

namespace {

// Reads a cell from left to right; once anything is wrong, ok stays false.
class CellReader {
 public:
  explicit CellReader(std::string_view text) : rest_(text) {}

  // Reads a number; kNone if there is none.
  int number(int most = std::numeric_limits<int>::max()) {
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return kNone;
    int value = 0;
    const char* end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    if (error != std::errc() || value > most) ok_ = false;
    rest_.remove_prefix(stop - rest_.data());
    return value;
  }

  Op op() {
    size_t length = 0;
    while (length < rest_.size() && rest_[length] >= 'A' &&
           rest_[length] <= 'Z') {
      ++length;
    }
    const std::optional<Op> found = parse_op(rest_.substr(0, length));
    if (!found) ok_ = false;
    rest_.remove_prefix(length);
    return found.value_or(Op::kF);
  }

  // Reads the number after `mark`; `absent` if the mark is not there.
  int marked(char mark, int absent,
             int most = std::numeric_limits<int>::max()) {
    if (rest_.empty() || rest_[0] != mark) return absent;
    rest_.remove_prefix(1);
    const int value = number(most);
    if (value == kNone) ok_ = false;
    return value;
  }

  [[nodiscard]] bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::optional<Action> parse_cell(std::string_view text) {
  CellReader reader(text);
  Action action;
  const int number = reader.number();
  action.op = reader.op();
  (action.op == Op::kG ? action.group : action.stage) = number;
  action.micro = reader.number();
  action.part = static_cast<std::uint8_t>(reader.marked('.', 0, 255));
  const bool has_pipe = action.op != Op::kG && !is_vote(action.op);
  action.pipe = reader.marked('@', has_pipe ? 0 : kNone);
  if (is_message(action.op) || action.op == Op::kR) {
    action.peer = reader.marked(is_send(action.op) ? '>' : '<', kNone);
  }
  constexpr int kMostLag = std::numeric_limits<std::int16_t>::max();
  action.step = static_cast<std::int16_t>(-reader.marked('~', 0, kMostLag));
  if (!reader.finished()) return std::nullopt;
  return action;
}

}  // namespace chimera

// Writes JSON for the page's script. Every string goes through script_string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chimera {

// Six digits, enough for a drawing; null if `value` is not finite.
[[nodiscard]] std::string json_number(double value);

// Builds {"key":value,...}, in the order of the calls.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, double value);
  JsonObject& flag(std::string_view key, bool value);
  // REQUIRES: `value` is JSON.
  JsonObject& json(std::string_view key, std::string_view value);

  [[nodiscard]] std::string str() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

[[nodiscard]] std::string json_list(const std::vector<std::string>& items);
[[nodiscard]] std::string json_list(const std::vector<int>& values);
[[nodiscard]] std::string json_list(const std::vector<double>& values);

}  // namespace chimera

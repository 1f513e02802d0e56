#include "chimera/page/json.h"

#include <fmt/format.h>

#include <cmath>

#include "chimera/base/text.h"
#include "chimera/page/escape.h"

namespace chimera {

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

JsonObject& JsonObject::json(std::string_view key, std::string_view value) {
  if (out_.size() > 1) out_ += ',';
  out_ += script_string(key);
  out_ += ':';
  out_ += value;
  return *this;
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
  return json(key, script_string(value));
}

JsonObject& JsonObject::number(std::string_view key, double value) {
  return json(key, json_number(value));
}

JsonObject& JsonObject::flag(std::string_view key, bool value) {
  return json(key, value ? "true" : "false");
}

std::string json_list(const std::vector<std::string>& items) {
  return "[" + join(items, ",") + "]";
}

std::string json_list(const std::vector<int>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string json_list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double value : values) {
    if (out.size() > 1) out += ',';
    out += json_number(value);
  }
  return out + "]";
}

}  // namespace chimera

// Builds a layer's list of parameters: weights and biases under their usual
// names, with Hugging Face's initial values (the same for GPT-2 and BERT).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chimera/model/parameter_spec.h"
#include "chimera/model/split_backward.h"

namespace chimera {

struct LinearShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
  WeightLayout layout = WeightLayout::kOutIn;
};

class ParameterList {
 public:
  static constexpr double kStd = 0.02;

  // Adds NAME.weight and NAME.bias.
  ParameterList& linear(const std::string& name, const LinearShape& shape,
                        double std = kStd) {
    matrix(name, shape, std);
    return bias(name + ".bias", shape.out);
  }
  // Adds NAME.weight only.
  ParameterList& matrix(const std::string& name, const LinearShape& shape,
                        double std = kStd) {
    const bool in_out = shape.layout == WeightLayout::kInOut;
    return add({.name = name + ".weight",
                .shape = in_out ? std::vector{shape.in, shape.out}
                                : std::vector{shape.out, shape.in},
                .std = std,
                .decays = true,
                .in_products = true});
  }
  // Adds a bias: the vector that is added to a matrix product.
  ParameterList& bias(const std::string& name, std::int64_t width) {
    return add({.name = name,
                .shape = {width},
                .init = Init::kZeros,
                .in_products = true});
  }
  ParameterList& norm(const std::string& name, std::int64_t width) {
    vector(name + ".weight", width, Init::kOnes);
    return vector(name + ".bias", width, Init::kZeros);
  }
  ParameterList& vector(const std::string& name, std::int64_t width,
                        Init init) {
    return add({.name = name, .shape = {width}, .init = init});
  }
  ParameterList& embedding(const std::string& name, std::int64_t rows,
                           std::int64_t width, bool tied = false) {
    return add({.name = name + ".weight",
                .shape = {rows, width},
                .std = kStd,
                .tied = tied,
                .in_products = true});
  }

  [[nodiscard]] std::vector<ParameterSpec> take() { return std::move(list_); }

 private:
  ParameterList& add(ParameterSpec spec) {
    list_.push_back(std::move(spec));
    return *this;
  }

  std::vector<ParameterSpec> list_;
};

}  // namespace chimera

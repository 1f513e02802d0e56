// Trains modules of one's own with Chimera on four workers, uses them
// afterwards, and compares their gradients with the unsplit model's. Workers
// are threads, or processes under mpirun, with the same bits. RUN_DIR gets
// metrics, checkpoints and weights.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=<where Chimera is installed>
//   cmake --build build
//   build/train_your_own_model RUN_DIR
//   mpirun -n 4 build/train_your_own_model RUN_DIR
//
// Expected output (the numbers vary a little):
//   step 1: loss 0.234216
//   step 100: loss 0.00232077
//   step 200: loss 0.00135982
//   step 300: loss 0.00111592
//   loss of new points: 0.000372942
//   gradients equal the unsplit model's: 1
#include <torch/torch.h>

#include <iostream>

#include "chimera/model/module_layer.h"
#include "chimera/run/run.h"
#include "chimera/train/verify.h"

using torch::nn::Linear, torch::nn::Sequential, torch::nn::Tanh;
using Blocks = std::vector<Sequential>;

// The task: from a point of a square to the product of its coordinates.
at::Tensor points(const std::vector<std::int64_t>& ids) {
  const at::Tensor id = torch::tensor(ids).to(at::kDouble);
  return at::stack({id * 0.7, id * 1.9}, 1).sin().to(at::kFloat);
}
at::Tensor error(const at::Tensor& y, const std::vector<std::int64_t>& ids) {
  return (y - points(ids).prod(1, true)).square().sum();
}

chimera::OwnModel make_model(const Blocks& blocks) {
  using chimera::make_module_layer;
  chimera::OwnModel model;
  model.layers.push_back(make_module_layer(
      "first", blocks[0].ptr(), [](auto& block, auto&, auto& context) {
        return block.forward(points(context.batch.sample_ids));
      }));
  model.layers.push_back(make_module_layer("second", blocks[1].ptr()));
  model.layers.push_back(make_module_layer("third", blocks[2].ptr()));
  model.layers.push_back(make_module_layer(
      "last", blocks[3].ptr(), [](auto& block, auto& x, auto& context) {
        return error(block.forward(x), context.batch.sample_ids) /
               context.batch.total.samples;
      }));
  return model;
}

// Follows the run, in the process of rank 0.
class Printer final : public chimera::RunObserver {
 public:
  Printer(const chimera::RunConfig& config, Blocks& blocks)
      : config_(config), blocks_(blocks) {}

  void on_step(const chimera::StepReport& report) override {
    if (report.step != 1 && report.step % 100 != 0) return;
    std::cout << "step " << report.step << ": loss " << report.loss << '\n';
  }
  void on_end(const chimera::RunEnd& /*end*/) override {
    at::Tensor x = points({-3, -2, -1});
    for (Sequential& block : blocks_) x = block->forward(x);
    const double left = error(x, {-3, -2, -1}).item<double>() / 3;
    std::cout << "loss of new points: " << left << '\n';
    const auto setup = chimera::set_up(config_, {}, make_model(blocks_));
    std::cout << "gradients equal the unsplit model's: "
              << chimera::verify(*setup.value(), {.steps = 1}).passes() << '\n';
  }
  void say(const std::string& lines) override { std::cerr << lines; }

 private:
  const chimera::RunConfig& config_;
  Blocks& blocks_;
};

int main(int argc, char** argv) {
  torch::manual_seed(1);  // the same modules in every process
  Blocks blocks = {
      Sequential(Linear(2, 32), Tanh()), Sequential(Linear(32, 32), Tanh()),
      Sequential(Linear(32, 32), Tanh()), Sequential(Linear(32, 1))};
  chimera::RunConfig config;  // the same keys as in run.toml
  config.schedule = {.spec = {.scheme = "chimera", .depth = 4, .micros = 8},
                     .micro_batch = 8};
  config.train = {.steps = 300, .lr = 0.003, .threads = 1};
  config.run = {.dir = argc > 1 ? argv[1] : "", .save_every = 100};
  Printer printer(config, blocks);
  const chimera::RunOptions options{
      .own_model = [&] { return make_model(blocks); }};
  return chimera::run(config, options, printer).code;
}

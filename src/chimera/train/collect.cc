#include "chimera/train/collect.h"

#include <ATen/ATen.h>

#include <set>

#include "chimera/comm/exchange.h"
#include "chimera/comm/machine.h"
#include "chimera/exec/clock_sync.h"
#include "chimera/model/tensor_payload.h"

namespace chimera {
namespace {

// The place from which the weights of a parameter are read. It is in the first
// pipe of the first copy, which stands for all replicas.
struct Home {
  int rank = 0;
  int stage = 0;
  std::size_t in_stage = 0;  // index in named_weights() of the stage
};

struct Directory {
  std::vector<ParameterSpec> parameters;
  std::vector<Home> homes;  // [parameter]
};

Directory find_homes(const TorchComputeOptions& options) {
  Directory directory;
  std::set<std::string> seen;  // a tied parameter is in two stages
  for (int stage = 0; stage < options.schedule.stages(); ++stage) {
    const int owner = options.schedule.placement.worker(0, stage);
    std::size_t in_stage = 0;
    for (const auto& layer : layers_of(options.model, options.cut, stage)) {
      for (const ParameterSpec& spec : layer->parameters()) {
        const Home home{owner, stage, in_stage++};
        if (!seen.insert(spec.name).second) continue;
        directory.parameters.push_back(spec);
        directory.homes.push_back(home);
      }
    }
  }
  return directory;
}

// Rank 0 asks a parameter's owner for it by number and takes the answer before
// it asks again. Each question to an owner has its own message index.
constexpr std::int64_t kNoMore = -1;

struct Exchange {
  MessageId question;
  MessageId answer;
};
Exchange exchange(std::int64_t number) {
  const MessageId question{.index = 2 * number, .channel = Channel::kWeights};
  return {question, next(question)};
}

class Reader final : public WeightReader {
 public:
  Reader(const TorchComputeOptions& options, Worker& worker,
         Transport& transport)
      : options_(options),
        worker_(worker),
        transport_(transport),
        directory_(find_homes(options)),
        asked_(transport.size()) {}

  [[nodiscard]] const std::vector<ParameterSpec>& parameters() const override {
    return directory_.parameters;
  }

  [[nodiscard]] at::Tensor read(std::size_t parameter) override {
    const int owner = directory_.homes[parameter].rank;
    if (owner == transport_.rank()) return own(parameter);
    const Exchange ids = exchange(asked_[owner]++);
    transport_.post_receive(ids.answer, owner, [&] {
      return std::make_unique<TensorPayload>(at::empty(
          directory_.parameters[parameter].shape, options_.formats.numbers));
    });
    ask(owner, ids, static_cast<std::int64_t>(parameter));
    return tensor_of(transport_.receive(ids.answer, owner).payload);
  }

  // Answers rank 0's questions. Called on all other ranks.
  void serve() {
    for (std::int64_t number = 0;; ++number) {
      const Exchange ids = exchange(number);
      const auto parameter =
          receive_value<std::int64_t>(transport_, ids.question, 0, [] {});
      if (parameter == kNoMore) return;
      transport_.send(ids.answer, 0,
                      std::make_unique<TensorPayload>(
                          own(static_cast<std::size_t>(parameter))));
    }
  }

  void release_others() {
    for (int rank = 1; rank < transport_.size(); ++rank) {
      ask(rank, exchange(asked_[rank]), kNoMore);
    }
  }

 private:
  [[nodiscard]] at::Tensor own(std::size_t parameter) {
    const Home& home = directory_.homes[parameter];
    return named_weights(options_, home.stage, *worker_.weights(home.stage))
        .at(home.in_stage)
        .value.cpu();
  }

  void ask(int owner, const Exchange& ids, std::int64_t parameter) {
    transport_.send(ids.question, owner, to_payload(parameter));
  }

  const TorchComputeOptions& options_;
  Worker& worker_;
  Transport& transport_;
  Directory directory_;
  std::vector<std::int64_t> asked_;  // [rank]: questions so far
};

}  // namespace

void read_weights(const TorchComputeOptions& options, Worker& worker,
                  Transport& transport,
                  const std::function<void(WeightReader& reader)>& use) {
  Reader reader(options, worker, transport);
  if (transport.rank() != 0) return reader.serve();
  use(reader);
  reader.release_others();
}

TraceClock::TraceClock(Transport& transport)
    : transport_(transport), first_(read(Channel::kClockAtStart)) {}

TraceClock::Reading TraceClock::read(Channel channel) {
  using Seconds = std::chrono::duration<double>;
  const Clock::duration offset =
      clock_offset(transport_, {.channel = channel, .machine = machine_id()});
  return {.time = Seconds(Clock::now().time_since_epoch()).count(),
          .offset = Seconds(offset).count()};
}

// Assumes that this clock's lead over rank 0's grows evenly between the two
// readings.
std::vector<std::vector<Event>> TraceClock::gather(std::vector<Event> events) {
  const Reading last = read(Channel::kClockAtEnd);
  const double growth =
      (last.offset - first_.offset) / (last.time - first_.time);
  for (Event& event : events) {
    for (double* time : {&event.start, &event.end}) {
      *time -= first_.offset + growth * (*time - first_.time);
    }
  }
  return gather_values(transport_, events, {.channel = Channel::kEvents});
}

}  // namespace chimera

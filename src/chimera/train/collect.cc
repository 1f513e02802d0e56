#include "chimera/train/collect.h"

#include <ATen/ATen.h>

#include <set>

#include "chimera/comm/machine.h"
#include "chimera/exec/clock_sync.h"
#include "chimera/exec/gather.h"
#include "chimera/model/tensor_payload.h"

namespace chimera {
namespace {

// Steps that no training and no evaluation reaches.
constexpr int kClockAtStart = (1 << 30) - 1;
constexpr int kClockAtEnd = (1 << 30) - 2;
constexpr int kEvents = (1 << 30) - 3;

// A parameter that another rank will send.
struct Expected {
  std::size_t at = 0;  // in the result
  int from = 0;
  MessageId id;
};

}  // namespace

std::vector<NamedTensor> collect_weights(const TorchComputeOptions& options,
                                         Worker& worker, Transport& transport,
                                         int step) {
  std::vector<NamedTensor> weights;
  std::vector<Expected> expected;
  std::set<std::string> seen;  // a tied one stands in two stages
  MessageId id{0, step};
  for (int stage = 0; stage < options.schedule.stages(); ++stage) {
    // The first pipe of the first copy speaks for all replicas.
    const int owner = options.schedule.placement.worker(0, stage);
    const bool is_mine = owner == transport.rank();
    std::vector<NamedTensor> mine;
    if (is_mine) mine = named_weights(options, stage, *worker.weights(stage));
    std::size_t in_stage = 0;
    for (const auto& layer : layers_of(options.model, options.cut, stage)) {
      for (const ParameterSpec& spec : layer->parameters()) {
        const std::size_t number = in_stage++;
        if (!seen.insert(spec.name).second) continue;
        ++id.index;
        if (transport.rank() == 0) {
          weights.push_back({spec.name, {}});
          if (is_mine) {
            weights.back().value = mine[number].value;
            continue;
          }
          transport.post_receive(id, owner, [&] {
            return std::make_unique<TensorPayload>(
                at::empty(spec.shape, options.dtype));
          });
          expected.push_back({weights.size() - 1, owner, id});
        } else if (is_mine) {
          transport.send(id, 0,
                         std::make_unique<TensorPayload>(mine[number].value));
        }
      }
    }
  }
  for (const Expected& tensor : expected) {
    weights[tensor.at].value =
        tensor_of(transport.receive(tensor.id, tensor.from).payload);
  }
  return weights;
}

TraceClock::TraceClock(Transport& transport)
    : transport_(transport), first_(read(kClockAtStart)) {}

TraceClock::Reading TraceClock::read(int step) {
  using Seconds = std::chrono::duration<double>;
  const Clock::duration offset =
      clock_offset(transport_, {.step = step, .machine = machine_id()});
  return {.time = Seconds(Clock::now().time_since_epoch()).count(),
          .offset = Seconds(offset).count()};
}

// Between the two readings the lead is taken to grow evenly.
std::vector<std::vector<Event>> TraceClock::gather(std::vector<Event> events) {
  const Reading last = read(kClockAtEnd);
  const double growth =
      (last.offset - first_.offset) / (last.time - first_.time);
  for (Event& event : events) {
    for (double* time : {&event.start, &event.end}) {
      *time -= first_.offset + growth * (*time - first_.time);
    }
  }
  return gather_values(transport_, events, kEvents);
}

}  // namespace chimera

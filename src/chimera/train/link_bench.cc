#include "chimera/train/link_bench.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "chimera/base/median.h"
#include "chimera/comm/exchange.h"
#include "chimera/model/device_sum.h"
#include "chimera/model/tensor_mail.h"

namespace chimera {
namespace {

constexpr int kRepeats = 15;
constexpr int kPlay = 2;  // first message index; the barrier uses 0 and 1
constexpr std::int64_t kMessageNumbers[] = {256, 1 << 14, 1 << 17, 1 << 19,
                                            1 << 20};
constexpr std::int64_t kSumNumbers[] = {1 << 14, 1 << 18, 1 << 21};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void barrier(Transport& transport, int step) {
  (void)agree_on_sum(transport, 0,
                     {.step = step, .channel = Channel::kLinkBench});
}

// Measures round trips between ranks 0 and 1, which both call this. Returns the
// seconds of each round trip on rank 0, and nothing on rank 1.
std::vector<double> play(Transport& transport, const at::Tensor& numbers,
                         int step) {
  const at::Device device = numbers.device();
  TensorMail mail(device);
  const auto post = [&](const MessageId& id, int peer) {
    transport.post_receive(id, peer, [&] {
      return mail.empty(numbers.sizes(), numbers.scalar_type());
    });
  };
  std::vector<double> times;
  at::Tensor ball = numbers;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const MessageId there{.index = kPlay + 2 * repeat,
                          .step = step,
                          .channel = Channel::kLinkBench};
    const MessageId back = next(there);
    if (transport.rank() == 0) {
      post(back, 1);
      const Clock::time_point start = Clock::now();
      transport.send(there, 1, mail.on_its_way(ball));
      ball = mail.arrived(transport.receive(back, 1).payload);
      wait_for_device(device);
      times.push_back(seconds_since(start));
    } else {
      post(there, 0);
      ball = mail.arrived(transport.receive(there, 0).payload);
      transport.send(back, 0, mail.on_its_way(ball));
    }
    mail.free_returned();
  }
  return times;
}

}  // namespace

LinkProfile fit_link(const std::vector<LinkSample>& samples) {
  // Least squares of (latency * rounds + s_per_byte * bytes) / seconds - 1.
  double rr = 0, rb = 0, bb = 0, r = 0, b = 0;
  for (const LinkSample& sample : samples) {
    const double rounds = sample.rounds / sample.seconds;
    const double bytes = sample.bytes / sample.seconds;
    rr += rounds * rounds;
    rb += rounds * bytes;
    bb += bytes * bytes;
    r += rounds;
    b += bytes;
  }
  const double area = rr * bb - rb * rb;
  LinkProfile fit;
  if (area > 1e-9 * rr * bb) {
    fit = {(r * bb - b * rb) / area, (b * rr - r * rb) / area};
  }
  if (fit.latency_s > 0 && fit.s_per_byte > 0) return fit;
  // Noise has left one of the two no positive share, so the samples are fitted
  // by the other alone: whichever fits them better.
  const LinkProfile latency{rr > 0 ? r / rr : 0, 0};
  const LinkProfile bandwidth{0, bb > 0 ? b / bb : 0};
  return rr == 0 || (bb > 0 && b * b / bb > r * r / rr) ? bandwidth : latency;
}

std::vector<LinkSample> measure_messages(Transport& transport,
                                         at::Device device) {
  std::vector<LinkSample> samples;
  int step = 0;
  for (const std::int64_t numbers : kMessageNumbers) {
    barrier(transport, step);
    if (transport.rank() < 2) {
      const std::vector<double> times =
          play(transport, at::zeros({numbers}, device), step);
      if (!times.empty()) {
        samples.push_back({.bytes = 4.0 * static_cast<double>(numbers),
                           .seconds = median(times) / 2});
      }
    }
    ++step;
  }
  barrier(transport, step);
  return samples;
}

std::vector<std::vector<int>> bench_groups(int ranks) {
  std::vector<std::vector<int>> groups;
  const auto add = [&](int size) {
    groups.emplace_back(size);
    std::iota(groups.back().begin(), groups.back().end(), 0);
  };
  for (int size = 2; size < ranks; size *= 2) add(size);
  if (ranks > 1) add(ranks);
  return groups;
}

std::vector<LinkSample> measure_sums(Transport& transport, at::Device device) {
  std::vector<LinkSample> samples;
  int step = 0;
  const std::vector<std::vector<int>> groups = bench_groups(transport.size());
  std::optional<c10::Stream> stream;  // of a device's sums
  if (!device.is_cpu()) stream = another_stream(device);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const double ranks = static_cast<double>(groups[group].size());
    for (const std::int64_t numbers : kSumNumbers) {
      const at::Tensor values = at::zeros({numbers}, device);
      std::vector<double> times;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        barrier(transport, step);
        if (transport.rank() < static_cast<int>(ranks)) {
          const CollectiveId id{.group = static_cast<int>(group),
                                .step = step,
                                .channel = Channel::kLinkBench};
          const Clock::time_point start = Clock::now();
          transport.start_collective(id, groups[group],
                                     buffer_of(values, stream));
          (void)transport.wait_collective(id);
          wait_for_device(device);
          times.push_back(seconds_since(start));
        }
        ++step;
      }
      if (transport.rank() != 0) continue;
      samples.push_back({.rounds = 2 * std::log2(ranks),
                         .bytes = 2 * (ranks - 1) / ranks * 4.0 *
                                  static_cast<double>(numbers),
                         .seconds = median(times)});
    }
  }
  barrier(transport, step);
  return samples;
}

}  // namespace chimera

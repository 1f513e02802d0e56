#include "chimera/exec/clock_sync.h"

#include "chimera/comm/bytes_payload.h"

namespace chimera {
namespace {

constexpr int kRounds = 8;

struct Reading {
  std::uint64_t machine = 0;
  Clock::rep time = 0;
};

void send_reading(Transport& transport, const MessageId& id, int to,
                  const Reading& reading) {
  transport.send(id, to, to_payload(reading));
}

Reading receive_reading(Transport& transport, const MessageId& id, int from) {
  transport.post_receive(id, from, empty_bytes(sizeof(Reading)));
  return from_payload<Reading>(*transport.receive(id, from).payload);
}

}  // namespace

Clock::duration clock_offset(Transport& transport,
                             const ClockSyncOptions& options) {
  const auto read = [&] {
    return Reading{options.machine, options.now().time_since_epoch().count()};
  };
  if (transport.rank() == 0) {
    for (int rank = 1; rank < transport.size(); ++rank) {
      for (int round = 0; round < kRounds; ++round) {
        const MessageId id{.index = round, .channel = options.channel};
        (void)receive_reading(transport, id, rank);
        send_reading(transport, id, rank, read());
      }
    }
    return {};
  }
  Clock::duration offset{};
  Clock::duration fastest = Clock::duration::max();
  for (int round = 0; round < kRounds; ++round) {
    const MessageId id{.index = round, .channel = options.channel};
    const Reading sent = read();
    send_reading(transport, id, 0, sent);
    const Reading theirs = receive_reading(transport, id, 0);
    const Clock::duration there_and_back(read().time - sent.time);
    if (theirs.machine != 0 && theirs.machine == sent.machine) {
      offset = {};
    } else if (there_and_back < fastest) {
      fastest = there_and_back;
      // Rank 0 read its clock about half-way between the two readings here.
      offset = Clock::duration(sent.time - theirs.time) + there_and_back / 2;
    }
  }
  return offset;
}

}  // namespace chimera

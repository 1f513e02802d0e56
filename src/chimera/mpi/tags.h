// All MPI tags that this program uses besides the numbers of pipeline messages,
// each with the communicator it belongs to.
#pragma once

namespace chimera {

// MPI_COMM_WORLD, before there is a transport (session.h).
enum SessionTag : int { kSessionGatherTag = 1, kSessionBroadcastTag = 2 };

// Communicators::control().
enum ControlTag : int {
  kHeartbeatTag,
  kEndingTag,
  kEvenVoteTag,
  kOddVoteTag,
};

// Communicators::group(): a block of an all-reduce uses its own number, modulo
// kBlockTags, as its tag. Far fewer blocks are under way at once.
enum GroupTag : int { kBlockTags = 4096, kAllGatherTag = kBlockTags };

}  // namespace chimera

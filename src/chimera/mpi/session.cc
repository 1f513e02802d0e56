#include "chimera/mpi/session.h"

#include <mpi.h>

#include <functional>
#include <thread>

#include "chimera/comm/comm_error.h"
#include "chimera/comm/transport.h"
#include "chimera/mpi/mpi_error.h"
#include "chimera/mpi/tags.h"

namespace chimera {
namespace {

// Polls without taking a core from ranks that are still working.
bool poll_until(Clock::time_point deadline, const std::function<bool()>& done) {
  while (!done()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Receives a message of unknown length, if one has arrived.
bool take(int from, int tag, std::string& text) {
  int has_come = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(
      MPI_Improbe(from, tag, MPI_COMM_WORLD, &has_come, &message, &status),
      "MPI_Improbe");
  if (has_come == 0) return false;
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  text.resize(length);
  check_mpi(MPI_Mrecv(text.data(), length, MPI_CHAR, &message, &status),
            "MPI_Mrecv");
  return true;
}

void wait_for(MPI_Request request, Clock::time_point deadline, int peer) {
  const bool done = poll_until(deadline, [&] {
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  });
  if (!done) throw TimeoutError("cannot reach a rank", peer);
}

MPI_Request start_send(const std::string& text, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, to,
                      tag, MPI_COMM_WORLD, &request),
            "MPI_Isend");
  return request;
}

}  // namespace

MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  // Two threads call MPI, never at the same time: this one before and after
  // training, the engine's in between.
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
            "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw CommError(
        "this MPI cannot be used by a thread of its own "
        "(MPI_THREAD_SERIALIZED)");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm here = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                MPI_INFO_NULL, &here),
            "MPI_Comm_split_type");
  MPI_Comm_size(here, &ranks_here_);
  MPI_Comm_rank(here, &local_rank_);
  MPI_Comm_free(&here);
  const int is_first = local_rank_ == 0 ? 1 : 0;
  check_mpi(
      MPI_Allreduce(&is_first, &hosts_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
      "MPI_Allreduce");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

std::string MpiSession::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, length);
  return all.substr(0, all.find(','));
}

std::vector<std::string> MpiSession::gather(const std::string& mine,
                                            std::chrono::seconds deadline) {
  const Clock::time_point until = Clock::now() + deadline;
  if (rank_ != 0) {
    wait_for(start_send(mine, 0, kSessionGatherTag), until, 0);
    return {};
  }
  std::vector<std::string> all{mine};
  for (int rank = 1; rank < size_; ++rank) {
    std::string text;
    if (!poll_until(until,
                    [&] { return take(rank, kSessionGatherTag, text); })) {
      throw TimeoutError("a rank has not reported", rank);
    }
    all.push_back(std::move(text));
  }
  return all;
}

std::string MpiSession::broadcast(const std::string& mine,
                                  std::chrono::seconds deadline) {
  const Clock::time_point until = Clock::now() + deadline;
  if (rank_ == 0) {
    for (int rank = 1; rank < size_; ++rank) {
      wait_for(start_send(mine, rank, kSessionBroadcastTag), until, rank);
    }
    return mine;
  }
  std::string text;
  if (!poll_until(until, [&] { return take(0, kSessionBroadcastTag, text); })) {
    throw TimeoutError("rank 0 has not answered", 0);
  }
  return text;
}

}  // namespace chimera

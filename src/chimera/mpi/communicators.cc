#include "chimera/mpi/communicators.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "chimera/comm/machine.h"
#include "chimera/mpi/mpi_error.h"

namespace chimera {
namespace {

MPI_Comm copy_of_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  // Makes MPI return errors, so that they can be reported in our own words.
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

// MPI guarantees at least 32768 tags.
std::int64_t number_of_tags() {
  void* highest = nullptr;
  int is_known = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &is_known),
            "MPI_Comm_get_attr");
  return is_known != 0 ? std::int64_t{*static_cast<int*>(highest)} + 1 : 32768;
}

// Makes the communicator of `members`. Only the members call it.
MPI_Comm comm_of(const std::vector<int>& members, int number) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(members.size()), members.data(),
                 &group);
  const int code = MPI_Comm_create_group(MPI_COMM_WORLD, group, number, &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  check_mpi(code, "MPI_Comm_create_group");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

// Identifies a process. Process numbers are comparable if machine and namespace
// are the same.
struct Process {
  std::uint64_t machine = 0;
  std::uint64_t space = 0;
  std::int64_t pid = 0;
};

Process this_process() {
  Process process{.machine = machine_id(), .pid = getpid()};
  struct stat status = {};
  if (stat("/proc/self/ns/pid", &status) == 0) process.space = status.st_ino;
  return process;
}

}  // namespace

Communicators::Communicators(const std::vector<std::vector<int>>& groups,
                             std::int64_t messages)
    : tags_(number_of_tags()) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  // Makes enough communicators to give each message its own pair of
  // communicator and tag.
  for (std::int64_t first = 0; first < messages; first += tags_) {
    messages_.push_back(copy_of_world());
  }
  control_ = copy_of_world();
  for (std::size_t number = 0; number < groups.size(); ++number) {
    const std::vector<int>& members = groups[number];
    const bool is_member =
        std::find(members.begin(), members.end(), rank_) != members.end();
    groups_.push_back(is_member && members.size() > 1
                          ? comm_of(members, static_cast<int>(number))
                          : MPI_COMM_NULL);
  }
  find_local_pids();
}

MpiAddress Communicators::message(std::int64_t index, int rank) const {
  return {messages_.at(index / tags_), rank, static_cast<int>(index % tags_)};
}

void Communicators::find_local_pids() {
  const Process mine = this_process();
  std::vector<Process> all(ranks_);
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine,
                          MPI_BYTE, control_),
            "MPI_Allgather");
  for (const Process& process : all) {
    const bool same = mine.machine != 0 && process.machine == mine.machine &&
                      process.space == mine.space;
    local_pids_.push_back(same ? static_cast<int>(process.pid) : 0);
  }
}

Communicators::~Communicators() {
  for (MPI_Comm& comm : groups_) {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&control_);
  for (MPI_Comm& comm : messages_) MPI_Comm_free(&comm);
}

}  // namespace chimera

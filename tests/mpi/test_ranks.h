// For tests that mpirun starts: every rank runs the same cases.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <vector>

#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"

namespace chimera::testing {

inline const MpiSession* session = nullptr;  // set by run_ranks

// A test that cannot go on ends its process, and so the job.
class TestEnding final : public EndingHandler {
 public:
  Cause cause_of_exception() override {
    try {
      throw;
    } catch (const std::exception& error) {
      return {.reason = error.what()};
    }
  }
  void report(const Ending& ending) override {
    std::cerr << "rank " << session->rank() << ": " << ending.reason
              << " (rank " << ending.origin << ")\n";
  }
  [[noreturn]] void leave(FailureKind /*kind*/) override { _exit(1); }
};

inline std::unique_ptr<MpiTransport> transport_of(
    const std::vector<std::vector<int>>& groups, const std::vector<int>& peers,
    std::int64_t messages = MpiOptions::kFewMessages) {
  static TestEnding ending;
  return make_mpi_transport({.deadline = std::chrono::seconds(60),
                             .groups = groups,
                             .peers = peers,
                             .messages = messages,
                             .handler = ending});
}

// Runs all tests; rank 0 prints.
inline int run_ranks(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const MpiSession own;
  session = &own;
  if (own.rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}

}  // namespace chimera::testing

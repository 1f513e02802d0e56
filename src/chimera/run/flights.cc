#include "chimera/run/flights.h"

#include <filesystem>

#include "chimera/base/files.h"

namespace chimera {

Flights::Flights(int first, int count) : first_(first) {
  for (int i = 0; i < count; ++i) {
    recorders_.push_back(std::make_unique<FlightRecorder>());
  }
}

void Flights::write(const std::string& run_directory,
                    const std::vector<std::string>& rank_names,
                    const std::string& reason) const noexcept {
  try {
    std::filesystem::create_directories(run_directory + "/flight");
    for (std::size_t i = 0; i < recorders_.size(); ++i) {
      const std::size_t rank = first_ + i;
      const std::string name = rank < rank_names.size()
                                   ? rank_names[rank]
                                   : "rank " + std::to_string(rank);
      const std::string title =
          reason.starts_with(name) ? reason : name + ": " + reason;
      const std::string text = title + "\n" + recorders_[i]->text();
      write_file(
          run_directory + "/flight/rank_" + std::to_string(rank) + ".txt",
          text);
    }
  } catch (const std::exception&) {
    return;  // too late to report it
  }
}

}  // namespace chimera

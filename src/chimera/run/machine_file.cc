#include "chimera/run/machine_file.h"

#include <fmt/format.h>

#include <ctime>
#include <map>

#include "chimera/base/host_name.h"
#include "chimera/base/text.h"
#include "chimera/exec/program.h"
#include "chimera/run/cores.h"
#include "chimera/run/host_memory.h"

namespace chimera {
namespace {

// Example: "2026-11-18T01:02:03Z".
std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

}  // namespace

std::string machine_json(const RunStart& start) {
  const std::string here = host_name();
  std::map<std::string, std::vector<std::string>> ranks_of;
  for (int rank = 0; rank < num_ranks(start.setup.schedule); ++rank) {
    const std::string& host = start.hosts.empty() ? here : start.hosts[rank];
    ranks_of[host].push_back(std::to_string(rank));
  }
  std::vector<std::string> hosts;
  for (const auto& [name, ranks] : ranks_of) {
    const std::string known =
        name == here ? fmt::format(R"("cores":{},"memory_bytes":{:.0f},)",
                                   usable_cores(), total_memory())
                     : "";
    hosts.push_back(fmt::format(R"({{"name":{},{}"ranks":[{}]}})",
                                json_string(name), known, join(ranks, ",")));
  }
  return fmt::format("{{\"version\":{},\"started\":{},\"hosts\":[{}]}}\n",
                     json_string(start.version), json_string(now_text()),
                     join(hosts, ","));
}

}  // namespace chimera

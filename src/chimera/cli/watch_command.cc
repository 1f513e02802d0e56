// chimera watch: serves the live page of a run to a browser on this machine.
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"
#include "chimera/page/http_server.h"
#include "chimera/page/live_run.h"

namespace chimera {
namespace {

constexpr const char* kOwnAddress = "127.0.0.1";

struct WatchCommand {
  std::string run_dir;
  std::string host;
  std::string port;

  int run(Values& values) const;
};

// A secret of 128 random bits.
std::string random_token() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    throw IoError("no random numbers for a token");
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Answers requests. Without a token only a browser on this machine is served,
// and only under the server's own address: a page elsewhere whose name resolves
// to this machine is refused.
class Watch {
 public:
  Watch(LiveRun run, std::string token, int port)
      : run_(std::move(run)), token_(std::move(token)), port_(port) {}

  [[nodiscard]] std::string root() const {
    return token_.empty() ? "/" : "/" + token_ + "/";
  }

  HttpAnswer answer(const HttpRequest& request) {
    if (token_.empty() && !is_own(request.host)) {
      return {.status = 403, .body = "ask for 127.0.0.1 or localhost\n"};
    }
    if (!request.path.starts_with(root())) return missing();
    const std::string name = request.path.substr(root().size());
    if (name.empty()) {
      run_.refresh();
      return {.type = "text/html; charset=utf-8", .body = run_.page()};
    }
    if (name == "run.json") return json(run_.run());
    if (name != "update.json") return missing();
    run_.refresh();
    const int from = parse_int(query_value(request.query, "from")).value_or(0);
    return json(
        run_.update(query_value(request.query, "version"), std::max(0, from)));
  }

 private:
  static HttpAnswer missing() { return {.status = 404, .body = "not here\n"}; }
  static HttpAnswer json(std::string body) {
    return {.type = "application/json", .body = std::move(body)};
  }
  [[nodiscard]] bool is_own(const std::string& host) const {
    return host == fmt::format("{}:{}", kOwnAddress, port_) ||
           host == fmt::format("localhost:{}", port_);
  }

  LiveRun run_;
  std::string token_;
  int port_;
};

int stop_writer = -1;  // the only variable that a signal handler uses
void on_signal(int) {
  [[maybe_unused]] const ssize_t done = write(stop_writer, "x", 1);
}

// Becomes readable after Ctrl-C or SIGTERM.
int stop_reader() {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) throw IoError("no pipe for signals");
  stop_writer = ends[1];
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return ends[0];
}

int WatchCommand::run(Values& values) const {
  if (run_dir.empty()) {
    values.refuse({.code = "E402",
                   .found = "RUN_DIR",
                   .needed = "is missing: what `train` writes",
                   .hint = "chimera watch runs/a"});
  }
  const int wanted = values.integer("--port", port).value_or(0);
  if (wanted < 0 || wanted > 65535) {
    values.refuse({.code = "E403",
                   .found = "--port " + port,
                   .needed = "must be from 0 (any) to 65535"});
  }
  if (!values.errors().empty()) return print_errors(values.errors());
  const std::string address = host.empty() ? kOwnAddress : host;
  Result<LiveRun> live = LiveRun::open(run_dir);
  Result<HttpServer> server = HttpServer::listen(address, wanted);
  if (!live) values.refuse(live.errors());
  if (!server) values.refuse(server.errors());
  if (!values.errors().empty()) return print_errors(values.errors());
  HttpServer open_server = std::move(server).value();
  Watch watch(std::move(live).value(), host.empty() ? "" : random_token(),
              open_server.port());
  const bool is_ipv6 = address.find(':') != std::string::npos;
  write_result(
      fmt::format("http://{}{}{}:{}{}\n", is_ipv6 ? "[" : "", address,
                  is_ipv6 ? "]" : "", open_server.port(), watch.root()),
      "");
  std::cerr << "watching " << run_dir << "; Ctrl-C ends\n";
  open_server.serve(
      [&](const HttpRequest& request) { return watch.answer(request); },
      stop_reader(), STDOUT_FILENO);
  return kExitDone;
}

}  // namespace

void add_watch_command(Command& program) {
  Command& command = program.add_command(
      "watch", "Serve the page of a run, live, to this machine's browser");
  auto state = std::make_shared<WatchCommand>();
  command.add_value("run_dir", state->run_dir, "what `train` writes",
                    "RUN_DIR");
  command.add_value("--port", state->port,
                    "port to listen on (default: any free one)", "P");
  command.add_value("--host", state->host,
                    "listen on this address instead of 127.0.0.1; the URL then "
                    "holds a token that readers need",
                    "ADDRESS");
  command.set_footer(
      "Prints the page's URL and follows the run, from any machine that sees\n"
      "its directory, until Ctrl-C or until its terminal is closed.\n"
      "docs/report.md\n"
      "\nExamples:\n"
      "  chimera watch runs/a\n"
      "  chimera watch runs/a --port 8000   and, from elsewhere,\n"
      "    ssh -L 8000:127.0.0.1:8000 host\n"
      "  chimera watch runs/a --host 0.0.0.0");
  command.set_work([state](Values& values) { return state->run(values); });
}

}  // namespace chimera

// A small HTTP server for one reader or a few: GET only, one answer per
// connection, everything bounded. One thread, and no wait without a deadline.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct HttpRequest {
  std::string method;
  std::string path;   // "/update.json"
  std::string query;  // "from=3", without the question mark
  std::string host;   // the Host header; empty if there is none
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

// Parses a request up to its empty line; nullopt if it is not HTTP/1.
[[nodiscard]] std::optional<HttpRequest> parse_request(std::string_view text);

// The value of `name` in "a=1&b=2"; empty if there is none.
[[nodiscard]] std::string query_value(std::string_view query,
                                      std::string_view name);

class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  // Listens on exactly this address; port 0 means any free port. E412 if that
  // fails.
  [[nodiscard]] static Result<HttpServer> listen(const std::string& host,
                                                 int port);
  HttpServer(HttpServer&& other) noexcept;
  HttpServer& operator=(HttpServer&&) = delete;
  ~HttpServer();

  [[nodiscard]] int port() const { return port_; }

  // Answers requests until `stop` becomes readable or is closed at its other
  // end, or `terminal` is closed at its other end (-1: not watched).
  void serve(const Handler& handler, int stop, int terminal);

 private:
  struct Connection {
    int descriptor = -1;
    std::string request;
    std::string answer;  // empty while the request is being read
    std::size_t sent = 0;
    std::chrono::steady_clock::time_point deadline;
  };

  HttpServer(int descriptor, int port) : listener_(descriptor), port_(port) {}

  void accept_one();
  // Returns whether the connection stays open.
  bool advance(Connection& connection, const Handler& handler);
  bool read_some(Connection& connection, const Handler& handler);
  static bool write_some(Connection& connection);
  [[nodiscard]] std::vector<pollfd> waits(int stop, int terminal) const;

  int listener_;
  int port_;
  std::list<Connection> connections_;
};

}  // namespace chimera

#include "chimera/page/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "chimera/base/text.h"

namespace chimera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 32;
constexpr std::size_t kLongestRequest = 8 << 10;
constexpr auto kPatience = std::chrono::seconds(10);

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    default:
      return "Method Not Allowed";
  }
}

std::string answer_text(const HttpAnswer& answer, bool has_body) {
  return fmt::format(
             "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
             "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
             "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
             "Connection: close\r\n\r\n",
             answer.status, reason_of(answer.status), answer.type,
             answer.body.size()) +
         (has_body ? answer.body : "");
}

HttpAnswer answer_to(const std::optional<HttpRequest>& request,
                     const HttpServer::Handler& handler) {
  if (!request) return {.status = 400, .body = "not a request\n"};
  if (request->method != "GET" && request->method != "HEAD") {
    return {.status = 405, .body = "GET only\n"};
  }
  return handler(*request);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) {
                      return std::tolower(x) == std::tolower(y);
                    });
}

Diagnostic unusable(const std::string& host, int port,
                    const std::string& reason) {
  return {.code = "E412",
          .where = fmt::format("{}:{}", host, port),
          .found = reason,
          .needed = "must be a free port of an address of this machine",
          .hint = "leave --port out for any free one"};
}

int port_of(int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

std::optional<HttpRequest> parse_request(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  const std::vector<std::string_view> words = split(trim(lines[0]), ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) return {};
  if (!words[1].starts_with('/')) return {};
  const std::size_t mark = words[1].find('?');
  HttpRequest request{.method = std::string(words[0]),
                      .path = std::string(words[1].substr(0, mark))};
  if (mark != std::string_view::npos) {
    request.query = std::string(words[1].substr(mark + 1));
  }
  for (const std::string_view line : lines) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (!equals_ignoring_case(line.substr(0, colon), "host")) continue;
    request.host = std::string(trim(line.substr(colon + 1)));
  }
  return request;
}

std::string query_value(std::string_view query, std::string_view name) {
  for (const std::string_view part : split(query, '&')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name) {
      return std::string(part.substr(equals + 1));
    }
  }
  return {};
}

Result<HttpServer> HttpServer::listen(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) return unusable(host, port, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  const int descriptor =
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (descriptor < 0 ||
      bind(descriptor, found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(descriptor, 16) != 0) {
    const std::string reason = std::strerror(errno);
    close(descriptor);
    return unusable(host, port, reason);
  }
  return HttpServer(descriptor, port_of(descriptor));
}

HttpServer::HttpServer(HttpServer&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)),
      port_(other.port_),
      connections_(std::move(other.connections_)) {}

HttpServer::~HttpServer() {
  for (const Connection& connection : connections_) {
    close(connection.descriptor);
  }
  if (listener_ >= 0) close(listener_);
}

void HttpServer::accept_one() {
  const int descriptor =
      accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) return;
  connections_.push_back(
      {.descriptor = descriptor, .deadline = Clock::now() + kPatience});
}

bool HttpServer::read_some(Connection& connection, const Handler& handler) {
  std::array<char, 4096> buffer;
  const ssize_t got =
      recv(connection.descriptor, buffer.data(), buffer.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  connection.request.append(buffer.data(), static_cast<std::size_t>(got));
  const bool is_whole =
      connection.request.find("\r\n\r\n") != std::string::npos;
  if (!is_whole) return connection.request.size() <= kLongestRequest;
  const std::optional<HttpRequest> request = parse_request(connection.request);
  connection.answer = answer_text(answer_to(request, handler),
                                  !request || request->method != "HEAD");
  connection.deadline = Clock::now() + kPatience;
  return true;
}

bool HttpServer::write_some(Connection& connection) {
  const ssize_t sent =
      send(connection.descriptor, connection.answer.data() + connection.sent,
           connection.answer.size() - connection.sent, MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<std::size_t>(sent);
  return connection.sent < connection.answer.size();
}

bool HttpServer::advance(Connection& connection, const Handler& handler) {
  return connection.answer.empty() ? read_some(connection, handler)
                                   : write_some(connection);
}

std::vector<pollfd> HttpServer::waits(int stop, int terminal) const {
  const bool is_full = connections_.size() >= kMostConnections;
  // poll skips a negative descriptor: while this server is full, new
  // connections wait in the kernel.
  std::vector<pollfd> waits = {{stop, POLLIN, 0},
                               {terminal, 0, 0},  // reports only its closing
                               {is_full ? -1 : listener_, POLLIN, 0}};
  for (const Connection& connection : connections_) {
    const bool is_reading = connection.answer.empty();
    const auto events = static_cast<short>(is_reading ? POLLIN : POLLOUT);
    waits.push_back({connection.descriptor, events, 0});
  }
  return waits;
}

void HttpServer::serve(const Handler& handler, int stop, int terminal) {
  while (true) {
    std::vector<pollfd> ready = waits(stop, terminal);
    // Wakes once a second, to close connections that are past their deadline.
    if (poll(ready.data(), ready.size(), 1000) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0 || ready[1].revents != 0) return;
    std::size_t at = 3;
    for (auto it = connections_.begin(); it != connections_.end(); ++at) {
      const bool goes_on = (ready[at].revents == 0 || advance(*it, handler)) &&
                           Clock::now() < it->deadline;
      if (goes_on) {
        ++it;
        continue;
      }
      close(it->descriptor);
      it = connections_.erase(it);
    }
    // Accepts last, because a new connection has no entry in `ready` yet.
    if (ready[2].revents != 0) accept_one();
  }
}

}  // namespace chimera

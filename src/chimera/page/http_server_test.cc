#include "chimera/page/http_server.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace chimera {
namespace {

TEST(HttpRequest, TakesPathQueryAndHost) {
  const auto request = parse_request(
      "GET /a/update.json?version=1.2.3&from=7 HTTP/1.1\r\n"
      "Accept: */*\r\nhOsT:  127.0.0.1:8000 \r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/a/update.json");
  EXPECT_EQ(request->host, "127.0.0.1:8000");
  EXPECT_EQ(query_value(request->query, "version"), "1.2.3");
  EXPECT_EQ(query_value(request->query, "from"), "7");
  EXPECT_EQ(query_value(request->query, "fro"), "");
}

TEST(HttpRequest, RefusesWhatIsNone) {
  for (const char* text :
       {"", "\r\n", "GET\r\n", "GET / HTTP/2\r\n", "GET a HTTP/1.1\r\n",
        "GET http://evil/ HTTP/1.1\r\n", "GET / HTTP/1.1 more\r\n"}) {
    EXPECT_FALSE(parse_request(text)) << text;
  }
}

RC_GTEST_PROP(HttpRequest, AnyBytesAreAnsweredOrRefused,
              (const std::string& text)) {
  const auto request = parse_request(text);
  RC_ASSERT(!request || request->path.starts_with('/'));
}

TEST(HttpServer, RefusesAnAddressOfAnotherMachine) {
  const Result<HttpServer> server = HttpServer::listen("203.0.113.1", 0);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.errors()[0].code, "E412");
}

}  // namespace
}  // namespace chimera

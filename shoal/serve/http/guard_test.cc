#include "shoal/serve/http/guard.h"

#include <gtest/gtest.h>

namespace shoal::serve {
namespace {

const Route& kChange = route_of(CallKind::kLoad);
const Route& kInfer = route_of(CallKind::kInfer);

HttpHead head_of(const std::string& host, const std::string& origin, const std::string& site = "",
                 const std::string& type = "") {
  HttpHead head;
  head.host = host;
  head.origin = origin;
  head.fetch_site = site;
  head.type = type;
  return head;
}

unsigned judged(const HttpHead& head, const Route& route, bool any_name = false) {
  const auto refusal = check_page(head, route, any_name);
  return refusal ? refusal->status : 200;
}

TEST(Guard, LetsProgramsAndItsOwnPageThrough) {
  EXPECT_EQ(judged({}, kChange), 200u);
  EXPECT_EQ(judged(head_of("any.name", "", "", "application/json"), kChange), 200u);
  for (const std::string host : {"localhost:8000", "127.0.0.1:8000", "[::1]:8000", "192.168.1.2"}) {
    EXPECT_EQ(judged(head_of(host, "http://" + host, "same-origin"), kChange), 200u) << host;
  }
  EXPECT_EQ(judged(head_of("pi.local", "https://pi.local"), kChange, /*any_name=*/true), 200u);
  EXPECT_EQ(judged(head_of("x", "http://evil.example"), route_of(CallKind::kReady)), 200u);
}

TEST(Guard, RefusesPagesOfOthers) {
  const std::string host = "127.0.0.1:8000";
  for (const char* origin :
       {"http://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:80001",
        "http://evil.example?127.0.0.1:8000", "127.0.0.1:8000"}) {
    EXPECT_EQ(judged(head_of(host, origin), kChange), 403u) << origin;
    EXPECT_EQ(judged(head_of(host, origin), kInfer, true), 403u) << origin;
  }
  for (const char* site : {"cross-site", "same-site", "x"}) {
    EXPECT_EQ(judged(head_of(host, "", site), kChange), 403u) << site;
  }
  // A name that was made to mean this machine.
  EXPECT_EQ(judged(head_of("evil.example", "http://evil.example"), kChange), 403u);
  EXPECT_EQ(judged(head_of("1.evil", "http://1.evil"), kChange), 403u);
  // Forms of browsers that do not send the origin.
  for (const char* type :
       {"text/plain", "Text/Plain;charset=UTF-8", "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(judged(head_of(host, "", "", type), kChange), 415u) << type;
    EXPECT_EQ(judged(head_of(host, "", "", type), kInfer), 200u) << type;  // curl -d
  }
}

}  // namespace
}  // namespace shoal::serve

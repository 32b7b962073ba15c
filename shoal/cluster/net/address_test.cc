#include "shoal/cluster/net/address.h"

#include <gtest/gtest.h>

#include <array>

namespace shoal::net {
namespace {

TEST(Address, IsAHostAndAPort) {
  for (const auto& [text, host, port] :
       {std::array{"pi.local:7070", "pi.local", "7070"}, std::array{"[::1]:80", "::1", "80"},
        std::array{":7070", "127.0.0.1", "7070"}}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
  }
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* text : {"", "host", "host:", "host:port", "host:70000", "::1:80", "host:80 "}) {
    EXPECT_FALSE(parse_address(text).ok()) << text;
  }
}

TEST(Interface, SaysWhoCanReachIt) {
  const auto parse = [](std::string_view text) { return *parse_interface(text); };
  EXPECT_EQ(parse(":7070").port, 7070);
  EXPECT_TRUE(parse(":7070").is_loopback);
  EXPECT_TRUE(parse("localhost:1").is_loopback);
  EXPECT_TRUE(parse("[::1]:1").is_loopback);
  EXPECT_TRUE(parse("0.0.0.0:1").is_all);
  EXPECT_TRUE(parse("[::]:1").is_all);
  EXPECT_FALSE(parse("192.0.2.1:1").is_loopback);
  EXPECT_FALSE(parse("192.0.2.1:1").is_all);
}

TEST(Interface, RefusesNames) {
  EXPECT_FALSE(parse_interface("pi.local:7070").ok());
  EXPECT_FALSE(parse_interface("7070").ok());
}

}  // namespace
}  // namespace shoal::net

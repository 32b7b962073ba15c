#include "shoal/serve/access/keys.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::serve {
namespace {

using std::chrono::milliseconds;

constexpr const char* kText =
    "# clients\n"
    "alice 0123456789abcdef\n"
    "\tbob  fedcba9876543210  2.5 # slowly\r\n";

TEST(Keys, KnowsThoseOfItsFileAndNoOther) {
  const auto keys = Keys::parse(kText);
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  const auto check = [&](const char* header) {
    return (*keys)->check(header, KeyUse::kWork, Time());
  };
  const KeyCheck alice = check("Bearer 0123456789abcdef"), bob = check("Bearer fedcba9876543210");
  EXPECT_TRUE(alice.is_known && bob.is_known);
  EXPECT_NE(alice.client, bob.client);
  EXPECT_EQ(alice.client, check("Bearer 0123456789abcdef").client);
  for (const char* header : {"", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef",
                             "Bearer 0123456789abcde", "Bearer 0123456789abcdeg",
                             "Bearer 0123456789abcdef ", "Bearer alice"}) {
    EXPECT_FALSE(check(header).is_known) << header;
  }
}

// Over any time that requests come in, a key gets its rate, and what one second has before.
TEST(Keys, LetEachKeyHaveItsRate) {
  std::mt19937 rng(1);
  for (const double rate : {0.5, 2.5, 40.0}) {
    const auto keys = Keys::parse("c 0123456789abcdef " + std::to_string(rate));
    ASSERT_TRUE(keys.ok());
    Time now{};
    double admitted = 0;
    for (int i = 0; i < 2000; ++i) {
      now += milliseconds(std::uniform_int_distribution<>(0, 20)(rng));
      const auto use = [&](KeyUse what) {
        return (*keys)->check("Bearer 0123456789abcdef", what, now);
      };
      // To look at the server five times a second costs nothing of it.
      EXPECT_FALSE(i % 20 == 0 && use(KeyUse::kDocument).retry_after);
      const KeyCheck check = use(KeyUse::kWork);
      ASSERT_TRUE(check.is_known);
      if (check.retry_after) {
        EXPECT_LE(*check.retry_after, std::chrono::duration<double>(1 / rate));
        continue;
      }
      admitted += 1;
      const double most =
          std::max(rate, 1.0) + rate * std::chrono::duration<double>(now - Time()).count();
      EXPECT_LE(admitted, most + 1e-6);
    }
    const double seconds = std::chrono::duration<double>(now - Time()).count();
    EXPECT_GE(admitted, std::min(rate * seconds, 2000.0) - 2);
  }
}

TEST(Keys, RefuseOtherFiles) {
  for (const char* text :
       {"", "# none", "alice", "alice short", "alice 0123456789abcdef fast",
        "alice 0123456789abcdef 0", "alice 0123456789abcdef -1", "alice 0123456789abcdef nan",
        "alice 0123456789abcdef 1 1", "alice 0123456789abcdef\nalice 0123456789abcdeg",
        "a 0123456789abcdef\nb 0123456789abcdef"}) {
    EXPECT_FALSE(Keys::parse(text).ok()) << text;
  }
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "keys";
  ASSERT_TRUE(net::write_new_text(path, kText).ok());
  EXPECT_TRUE(Keys::read(path).ok());
  std::filesystem::permissions(path, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_FALSE(Keys::read(path).ok());
}

}  // namespace
}  // namespace shoal::serve

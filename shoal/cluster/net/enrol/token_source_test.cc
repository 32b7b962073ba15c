#include "shoal/cluster/net/enrol/token_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal::net {
namespace {

class TokenSourceTest : public testing::Test {
 protected:
  TokenSourceTest() { unsetenv("SHOAL_TOKEN"); }
  ~TokenSourceTest() override { unsetenv("SHOAL_TOKEN"); }

  std::string read(const TokenSource& source, const std::string& input = "") {
    std::istringstream in(input);
    const auto token = source.read(in, [this](const std::string& line) { warned_ += line; });
    return token.ok() ? *token : std::string(token.status().message());
  }
  std::string file(const char* text) {
    const auto path = folder_->path() / "token";
    EXPECT_TRUE(write_file(path, text).ok());
    return path;
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  std::string warned_;
};

TEST_F(TokenSourceTest, TakesTheFirstThatIsGiven) {
  setenv("SHOAL_TOKEN", "of-environment", 1);
  EXPECT_EQ(read({}), "of-environment");
  EXPECT_EQ(read({.file = file("of-file\n")}), "of-file");
  EXPECT_EQ(read({.file = "-"}, " of-input\nmore"), "of-input");
  EXPECT_EQ(warned_, "");
  EXPECT_EQ(read({.token = "itself", .file = "-"}, "of-input"), "itself");
  EXPECT_NE(warned_, "") << "others can see it";
}

TEST_F(TokenSourceTest, IsEmptyWhereNoneIsGiven) {
  EXPECT_EQ(read({}), "");
  EXPECT_EQ(read({.file = file("\n")}), "");
}

TEST_F(TokenSourceTest, SaysWhichFileCannotBeRead) {
  const std::string none = folder_->path() / "none";
  EXPECT_EQ(read({.file = none}), none + ": cannot read the token: No such file or directory");
}

}  // namespace
}  // namespace shoal::net

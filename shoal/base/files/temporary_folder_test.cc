#include "shoal/base/files/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

namespace shoal {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithAllThatIsInIt) {
  fs::path path;
  {
    const auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    path = folder->path();
    EXPECT_TRUE(fs::is_empty(path));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path / "deep" / "er");
    std::ofstream(path / "deep" / "file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, StaysWhenItIsMoved) {
  auto first = TemporaryFolder::make();
  const fs::path path = first->path();
  {
    const TemporaryFolder second = *std::move(first);
    EXPECT_EQ(second.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, SaysWhereItCannotBe) {
  const char* before = std::getenv("TMPDIR");
  const std::optional<std::string> restored =
      before ? std::optional(std::string(before)) : std::nullopt;
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_FALSE(TemporaryFolder::make().ok());
  restored ? ::setenv("TMPDIR", restored->c_str(), 1) : ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace shoal

#include "shoal/base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace shoal {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("shoal_" + test);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, KeepsASecretFromOthers) {
  const fs::path target = folder_ / "key";
  auto file = AtomicFile::create(target, AtomicFile::Readers::kOwner);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->write(bytes("secret")).ok());
  EXPECT_TRUE(file->commit().ok());
  EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFileTest, ReplacesTheTargetAtCommit) {
  const fs::path target = folder_ / "file";
  std::ofstream(target) << "old";
  auto file = AtomicFile::create(target);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(bytes("new")).ok());
  EXPECT_EQ(content(target), "old");
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(content(target), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  {
    auto file = AtomicFile::create(folder_ / "file");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(bytes("half")).ok());
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, KeepsASymbolicLinkALink) {
  std::ofstream(folder_ / "file") << "old";
  fs::create_symlink("file", folder_ / "link");
  auto file = AtomicFile::create(folder_ / "link");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(bytes("through")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "file"), "through");
}

TEST_F(AtomicFileTest, WritesDevicesDirectly) {
  auto file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(bytes("gone")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto file = AtomicFile::create("/dev/full");
  ASSERT_TRUE(file.ok());
  Status status = file->write(bytes("much"));
  if (status.ok()) status = file->commit();
  EXPECT_EQ(status.code(), Code::kExhausted);
}

TEST_F(AtomicFileTest, RefusesFoldersAndMissingOnes) {
  EXPECT_EQ(AtomicFile::create(folder_).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(AtomicFile::create(folder_ / "none" / "file").status().code(), Code::kNotFound);
}

TEST_F(AtomicFileTest, CleansUpAfterTheKilled) {
  const auto made = [&](const std::string& name) {
    std::ofstream(folder_ / name) << "half";
    return folder_ / name;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const fs::path of_dead = made("list." + std::to_string(child) + ".part");
  const fs::path of_before = made("list." + std::to_string(::getpid()) + ".part");
  const std::vector<fs::path> others = {made("list." + std::to_string(::getppid()) + ".part"),
                                        made("list"), made("list.part"), made("list.1x.part"),
                                        made("1.part")};
  remove_abandoned(folder_);
  EXPECT_FALSE(fs::exists(of_dead));
  EXPECT_FALSE(fs::exists(of_before)) << "its number was given to this process";
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  remove_abandoned(folder_ / "nowhere");
}

}  // namespace
}  // namespace shoal

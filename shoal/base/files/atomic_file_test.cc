#include "shoal/base/files/atomic_file.h"

#include <gtest/gtest.h>

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
  auto file = AtomicFile::create(target, {.readers = AtomicFile::Readers::kOwner});
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
  const fs::path of_killed = made("list.0123456789abcdef.part");
  const std::vector<fs::path> others = {made("list"),
                                        made("list.part"),
                                        made("film.part"),
                                        made("list.0123456789abcdeX.part"),
                                        made("list.0123456789abcde.part"),
                                        made("list-0123456789abcdef.part")};
  auto living = AtomicFile::create(folder_ / "list");
  ASSERT_TRUE(living.ok()) << living.status().message();
  EXPECT_FALSE(fs::exists(of_killed)) << "the next writer of the file removes it";
  made("other.0123456789abcdef.part");
  remove_abandoned(folder_);
  EXPECT_EQ(files(), others.size() + 1) << "that of the living stays";
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  ASSERT_TRUE(living->write(bytes("new")).ok());
  EXPECT_TRUE(living->commit().ok());
  EXPECT_EQ(content(folder_ / "list"), "new");
  remove_abandoned(folder_ / "nowhere");
}

TEST_F(AtomicFileTest, MakesFoldersWithThoseAbove) {
  const fs::path folder = folder_ / "a" / "b" / "c";
  ASSERT_TRUE(make_folder(folder, AtomicFile::Readers::kOwner).ok());
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(make_folder(folder).ok()) << "it is there";
  EXPECT_TRUE(make_folder(folder_ / "a" / "d" / "").ok());
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "d"));
  std::ofstream(folder_ / "file") << "no folder";
  EXPECT_FALSE(make_folder(folder_ / "file" / "below").ok());
}

TEST_F(AtomicFileTest, LetsTwoWriteAtOnce) {
  auto one = AtomicFile::create(folder_ / "file");
  auto two = AtomicFile::create(folder_ / "file");
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_TRUE(one->write(bytes("one")).ok());
  ASSERT_TRUE(two->write(bytes("two")).ok());
  EXPECT_TRUE(two->commit().ok());
  EXPECT_TRUE(one->commit().ok());
  EXPECT_EQ(content(folder_ / "file"), "one");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, MakesANewFileOnlyOnce) {
  auto first = AtomicFile::create(folder_ / "file");
  auto second = AtomicFile::create(folder_ / "file");
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(first->write(bytes("first")).ok());
  EXPECT_TRUE(first->commit_new().ok());
  EXPECT_EQ(second->commit_new().code(), Code::kInvalidArgument);
  EXPECT_EQ(content(folder_ / "file"), "first");
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace shoal

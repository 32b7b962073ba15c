#include "shoal/base/files/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "shoal/base/files/temporary_folder.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// A folder with a file in it and a secret beside it.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "model" / "deep");
    write("secret", "secret");
    write("model/weights", "weights");
    write("model/deep/more", "more");
  }

  void write(const fs::path& name, std::string_view text) { std::ofstream(root_ / name) << text; }
  bool opens(const fs::path& name) const {
    return MappedFile::open_inside(root_ / "model", name).ok();
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const fs::path root_ = temporary_->path();
};

TEST_F(Files, InsideTheFolderOpen) {
  auto file = MappedFile::open_inside(root_ / "model", "deep/more");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->bytes().size(), 4u);
  EXPECT_TRUE(opens("weights"));
}

TEST_F(Files, OutsideTheFolderDoNot) {
  EXPECT_FALSE(opens("../secret"));
  EXPECT_FALSE(opens("deep/../../secret"));
  EXPECT_FALSE(opens(root_ / "secret"));
  EXPECT_FALSE(opens(""));
}

TEST_F(Files, BehindLinksDoNotOpen) {
  fs::create_symlink(root_ / "secret", root_ / "model" / "soft");
  fs::create_hard_link(root_ / "secret", root_ / "model" / "hard");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_FALSE(opens("soft"));
  EXPECT_FALSE(opens("hard"));
  EXPECT_FALSE(opens("up/secret"));
}

TEST_F(Files, ThatAreNoFilesAreRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(opens("pipe"));
  EXPECT_FALSE(opens("deep"));
  EXPECT_FALSE(MappedFile::open(root_ / "model" / "pipe").ok());
  EXPECT_FALSE(MappedFile::open(root_ / "model").ok());
  EXPECT_EQ(MappedFile::open(root_ / "absent").status().code(), Code::kNotFound);
}

TEST_F(Files, OfAFolderAreListedInOrder) {
  write("model/a", "");
  const auto listed = list_folder(root_ / "model");
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(*listed,
            (std::vector{root_ / "model/a", root_ / "model/deep", root_ / "model/weights"}));
  EXPECT_TRUE(list_folder(root_ / "model/deep")->size() == 1);
  EXPECT_EQ(list_folder(root_ / "absent").status().code(), Code::kNotFound);
  EXPECT_FALSE(list_folder(root_ / "secret").ok());
}

TEST_F(Files, OfNoBytesMap) {
  write("model/empty", "");
  auto file = MappedFile::open(root_ / "model" / "empty");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->bytes().empty());
}

}  // namespace
}  // namespace shoal

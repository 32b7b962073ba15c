#include "apps/cluster_commands/load.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"

namespace shoal::serve {
namespace {

class LoadSettingsTest : public testing::Test {
 protected:
  std::string file(const char* name, const char* text) {
    const auto path = folder_->path() / name;
    EXPECT_TRUE(write_file(path, text).ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(LoadSettingsTest, AreOptionsOfClients) {
  const auto options =
      LoadSettings{.url = "http://a:1", .model = "m", .clients = 3, .seconds = 0.5, .rate = 7}
          .options();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->url, "http://a:1");
  EXPECT_EQ(options->model, "m");
  EXPECT_EQ(options->clients, 3U);
  EXPECT_EQ(options->time.count(), 0.5);
  EXPECT_EQ(options->rate, 7);
  EXPECT_EQ(options->key + options->trusted, "");
}

TEST_F(LoadSettingsTest, ReadTheFirstWordOfAKeyAndAllCertificates) {
  const auto options = LoadSettings{.key_file = file("key", " secret \nother\n"),
                                    .trusted_file = file("certificates", "one\ntwo\n")}
                           .options();
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->key, "secret");
  EXPECT_EQ(options->trusted, "one\ntwo\n");
}

TEST_F(LoadSettingsTest, RefuseFilesWithoutAKey) {
  const std::string empty = file("key", "\n \n");
  EXPECT_EQ(LoadSettings{.key_file = empty}.options().status().message(),
            "there is no key in " + empty);
  EXPECT_FALSE(LoadSettings{.key_file = folder_->path() / "none"}.options().ok());
  EXPECT_FALSE(LoadSettings{.trusted_file = folder_->path() / "none"}.options().ok());
}

TEST_F(LoadSettingsTest, AreDescribed) {
  LoadSettings settings;
  expect_described(settings_of(settings));
}

TEST(LoadFacts, TellAnswersFromRefusals) {
  LoadResult result;
  for (double ms : {1.0, 2.0, 3.0, 4.0}) result.answered.add(ms);
  result.refused.add(0.5);
  result.failed = 2;
  result.seconds = 2;
  const Facts facts = facts_of(result, {.url = "", .model = "m", .clients = 3});
  const std::string json = object_of(facts).dump();
  EXPECT_NE(json.find(R"("answered":4,"answered_per_s":2.0,"clients":3,"failed":2)"), json.npos)
      << json;
  EXPECT_NE(json.find(R"("refused":1)"), json.npos) << json;
  EXPECT_EQ(facts[3].cell, "4");
}

}  // namespace
}  // namespace shoal::serve

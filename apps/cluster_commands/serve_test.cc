#include "apps/cluster_commands/serve.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"

namespace shoal::serve {
namespace {

class ServerSettings : public testing::Test {
 protected:
  std::string file(const char* name, const char* text) {
    const auto path = folder_->path() / name;
    EXPECT_TRUE(write_file(path, text).ok());
    return path;
  }
  std::string error_of(Settings settings) {
    settings.log = [](const std::string&) {};
    const auto ready = prepare(settings);
    EXPECT_FALSE(ready.ok());
    return ready.ok() ? "" : std::string(ready.status().message());
  }
  // What is said while these settings are prepared.
  std::vector<std::string> said_by(Settings settings) {
    std::vector<std::string> lines;
    settings.log = [&](const std::string& line) { lines.push_back(line); };
    const auto ready = prepare(settings);
    EXPECT_TRUE(ready.ok()) << ready.status().message();
    return lines;
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(ServerSettings, ServesTheDigitsByItself) {
  const auto ready = prepare({});
  ASSERT_TRUE(ready.ok()) << ready.status().message();
  ASSERT_EQ(ready->sources.size(), 1U);
  EXPECT_EQ(ready->sources[0].name, "digits");
  EXPECT_EQ(ready->leadership, nullptr);
  EXPECT_FALSE(ready->options.leads);
  EXPECT_FALSE(ready->options.api.any_name) << "on this machine alone, names are checked";
}

TEST_F(ServerSettings, GivesNumbersTheirUnits) {
  Settings settings{.threads = 3, .max_batch = 4, .max_wait_ms = 20, .max_delay_us = 7};
  settings.max_body_mb = 2;
  settings.labels = file("labels.txt", "zero\none\n");
  const auto ready = prepare(settings);
  ASSERT_TRUE(ready.ok()) << ready.status().message();
  EXPECT_EQ(ready->options.limits.body_bytes, 2U << 20);
  EXPECT_EQ(ready->options.max_bodies, 8U << 20);
  EXPECT_EQ(ready->options.engine.slots, 3U);
  EXPECT_EQ(ready->options.engine.max_wait, std::chrono::milliseconds(20));
  EXPECT_EQ(ready->options.engine.max_delay, std::chrono::microseconds(7));
  EXPECT_EQ(ready->sources[0].max_batch, 4);
  EXPECT_EQ(ready->sources[0].labels, (std::vector<std::string>{"zero", "one"}));
  EXPECT_GT(Settings().slots(), 0) << "as many as there are cores";
}

TEST_F(ServerSettings, WarnsWhereStrangersReachTheServer) {
  EXPECT_TRUE(said_by({}).empty());
  Settings open{.listen = "0.0.0.0:0"};
  ASSERT_EQ(said_by(open).size(), 1U);
  EXPECT_NE(said_by(open)[0].find("no --keys"), std::string::npos);
  Settings by_grpc{.grpc = "0.0.0.0:0"};
  EXPECT_EQ(said_by(by_grpc).size(), 1U);
  open.keys = file("keys", "alice 0123456789abcdef\n");
  std::filesystem::permissions(open.keys, std::filesystem::perms::owner_read);
  ASSERT_EQ(said_by(open).size(), 1U);
  EXPECT_NE(said_by(open)[0].find("plain text"), std::string::npos);
}

TEST_F(ServerSettings, RefusesWhatCannotBe) {
  EXPECT_NE(error_of({.listen = "nowhere"}), "");
  EXPECT_EQ(error_of({.tls_certificates = "a"}), "--tls-cert and --tls-key go together");
  EXPECT_NE(error_of({.keys = folder_->path() / "none"}), "");
  EXPECT_NE(error_of({.models = {"=x"}}), "");
  EXPECT_NE(error_of({.catalog = folder_->path() / "none"}), "");
  EXPECT_NE(error_of({.cloud_costs = {"speed=0"}}), "");
  EXPECT_EQ(error_of({.decision_log = folder_->path() / "no/log"}),
            "cannot write " + (folder_->path() / "no/log").string());
  EXPECT_EQ(error_of({.special_data = "x"}), "--special-data is for a catalog of one task");
  EXPECT_NE(error_of({.leader_store = "ftp://x"}), "");
}

TEST_F(ServerSettings, AreDescribed) {
  Settings settings;
  const SettingList all =
      joined({catalog_settings(settings), access_settings(settings), answer_settings(settings)});
  expect_described(all);
}

TEST_F(ServerSettings, MayStandForLeader) {
  const auto ready = prepare({.leader_store = "http://127.0.0.1:1/digits"});
  ASSERT_TRUE(ready.ok()) << ready.status().message();
  ASSERT_NE(ready->leadership, nullptr);
  EXPECT_FALSE(ready->options.leads()) << "before it was elected";
}

}  // namespace
}  // namespace shoal::serve

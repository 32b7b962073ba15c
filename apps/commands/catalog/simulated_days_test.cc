#include "apps/commands/catalog/simulated_days.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal::config {
namespace {

class SimulatedDaysTest : public testing::Test {
 protected:
  std::string file(const char* name, const char* text) {
    const auto path = folder_.path() / name;
    EXPECT_TRUE(write_file(path, text).ok());
    return path;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  DaysSettings settings_{.catalog = file("tasks.toml", R"(
[[task]]
name = "digits"
latency_ms = 50
[[task.variant]]
name = "large"
accuracy = 0.99
ms = 8
joules = 0.02
bytes = 1700000
)"),
                         .trace = file("day.toml", R"(
[budget]
joules = 50
memory_mb = 2
hours = 1
[[stream]]
tasks = ["digits"]
per_hour = [10, 30]
)")};
};

TEST_F(SimulatedDaysTest, AreTheSameForOneSeedWithALogAndWithout) {
  const auto first = simulate_days(settings_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->report.days, 1U);
  EXPECT_EQ(first->catalog.tasks.size(), 1U);
  EXPECT_GT(first->report.answered, 0U);
  settings_.log = folder_.path() / "log";
  const auto again = simulate_days(settings_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->report.log_hash, first->report.log_hash);
  std::ifstream log(settings_.log);
  const std::string lines(std::istreambuf_iterator<char>(log), {});
  EXPECT_NE(lines.find("digits"), lines.npos) << "every decision is a line";
}

TEST_F(SimulatedDaysTest, FailAsTheirFilesDo) {
  settings_.log = folder_.path() / "no/log";
  EXPECT_EQ(simulate_days(settings_).status().message(), "cannot write " + settings_.log);
  settings_.trace = folder_.path() / "none";
  EXPECT_FALSE(simulate_days(settings_).ok());
  settings_.catalog = folder_.path() / "none";
  EXPECT_FALSE(simulate_days(settings_).ok());
}

}  // namespace
}  // namespace shoal::config

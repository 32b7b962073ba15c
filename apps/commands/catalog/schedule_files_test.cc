// Files of tasks and of days for the scheduler.
#include "apps/commands/catalog/schedule_files.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal::config {
namespace {

constexpr const char* kTasks = R"(
[[fragment]]
name = "stem"
ms = 1
joules = 0.5
bytes = 1000
[[task]]
name = "digits"
latency_ms = 50
weight = 2
[[task.variant]]
name = "large"
accuracy = 0.99
ms = 8
joules = 0.02
bytes = 1700000
[[task.variant]]
name = "special"
place = "here"
accuracy = 0.97
ms = 1
joules = 0.002
fragment = "stem"
[task.variant.fallback]
share = 0.1
accuracy = 0.99
ms = 8
joules = 0.02
)";

constexpr const char* kDay = R"(
[budget]
joules = 50
memory_mb = 2
hours = 10
[paging]
joules_per_mb = 3
mb_per_second = 4
[cloud]
mbit = 16
dollars_per_hour = 7.2
input_bytes = 1000
[link]
down = 0.25
[[stream]]
tasks = ["digits"]
per_hour = [10, 30]
)";

TEST(TasksFile, HasFragmentsTasksAndVariants) {
  const auto catalog = parse_tasks(kTasks, "tasks.toml");
  ASSERT_TRUE(catalog.ok()) << catalog.status().message();
  ASSERT_EQ(catalog->tasks.size(), 1u);
  const schedule::Task& task = catalog->tasks[0];
  EXPECT_EQ(task.latency_ms, 50);
  EXPECT_EQ(task.weight, 2);
  ASSERT_EQ(task.options.size(), 2u);
  EXPECT_EQ(task.options[0].bytes, 1'700'000);
  EXPECT_EQ(task.options[1].fragment, 0u);
  ASSERT_TRUE(task.options[1].fallback);
  EXPECT_EQ(task.options[1].fallback->share, 0.1);
}

TEST(TraceFile, GivesBudgetsTheCloudAndWhatIsExpected) {
  auto catalog = parse_tasks(kTasks, "tasks.toml");
  const auto trace = parse_trace(kDay, "day.toml", *catalog);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->budgets.joules, 50);
  EXPECT_EQ(trace->budgets.bytes, 2'000'000);
  EXPECT_EQ(trace->budgets.seconds, 36'000);
  EXPECT_DOUBLE_EQ(trace->paging.joules_per_byte, 3e-6);
  EXPECT_DOUBLE_EQ(trace->paging.seconds_per_byte, 0.25e-6);
  EXPECT_EQ(trace->usage.down, 0.25);
  const schedule::Task& task = catalog->tasks[0];
  EXPECT_DOUBLE_EQ(task.requests_per_day, 200);
  ASSERT_EQ(task.options.size(), 3u) << "what has a fragment or a fallback stays here";
  EXPECT_EQ(task.options[2].place, schedule::Place::kCloud);
  const schedule::Option there =
      in_cloud(task.options[0], {.bytes_per_second = 2e6, .dollars_per_second = 0.002}, 1000);
  EXPECT_DOUBLE_EQ(task.options[2].ms, there.ms);
  EXPECT_DOUBLE_EQ(task.options[2].dollars, there.dollars);
}

TEST(ScheduleFiles, NameWhatMakesNoSense) {
  const auto refusal = [](const std::string& tasks, const std::string& day = kDay) {
    auto catalog = parse_tasks(tasks, "tasks.toml");
    const Status status =
        catalog.ok() ? parse_trace(day, "day.toml", *catalog).status() : catalog.status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << tasks << day;
    return std::string(status.message());
  };
  const std::string tasks = kTasks, day = kDay;
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  for (const auto& [message, what] : std::vector<std::pair<std::string, std::string>>{
           {refusal(with(tasks, "weight", "wait")), "tasks.toml: unknown key wait"},
           {refusal(with(tasks, "ms = 1", "ms = -1")), "ms is not a number that makes sense"},
           {refusal(with(tasks, "\"here\"", "\"moon\"")), "there is no place moon"},
           {refusal(with(tasks, "\"stem\"\n[task", "\"root\"\n[task")), "no fragment root"},
           {refusal(with(tasks, "accuracy = 0.97", "")), "accuracy is missing"},
           {refusal("task = 3"), "task is no list"},
           {refusal(tasks, with(day, "hours = 10", "hours = 0")), "hours must be above 0"},
           {refusal(tasks, with(day, "\"digits\"", "\"cats\"")), "there is no task cats"},
           {refusal(tasks, with(day, "[10, 30]", "[\"x\"]")), "per_hour is no list of numbers"},
           {refusal(tasks, with(day, "[budget]", "[budgets]")), "unknown key budgets"}}) {
    EXPECT_NE(message.find(what), message.npos) << message;
  }
}

TEST(ScheduleFiles, AreReadFromFilesAndRefuseFoldersWithoutCatalogs) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto path = folder.path() / "tasks.toml";
  EXPECT_FALSE(read_tasks(path).ok());
  ASSERT_TRUE(write_file(path, kTasks).ok());
  EXPECT_TRUE(read_tasks(path).ok());
  const auto none = read_tasks(folder.path());
  EXPECT_TRUE(!none.ok() || none->tasks.empty());
}

}  // namespace
}  // namespace shoal::config

#include "apps/commands/networks/evaluation_task.h"

#include <gtest/gtest.h>

#include <map>

namespace shoal::config {
namespace {

TEST(EvaluationTask, ReadsItsOwnFormats) {
  const std::map<std::string, std::string> reader = {
      {"yolo", "detect"}, {"mot", "track"}, {"video", "gate"}};
  for (const std::string& task : evaluation_tasks()) {
    for (const std::string& format : evaluation_formats()) {
      const auto known = reader.find(format);
      const std::string& wanted = known != reader.end() ? known->second : "classify";
      EXPECT_EQ(evaluation_task(task, format).ok(), task == wanted) << task << " " << format;
    }
  }
  EXPECT_EQ(*evaluation_task("classify", "idx"), EvaluationTask::kClassify);
  EXPECT_EQ(*evaluation_task("detect", "yolo"), EvaluationTask::kDetect);
  EXPECT_EQ(*evaluation_task("track", "mot"), EvaluationTask::kTrack);
  EXPECT_EQ(*evaluation_task("gate", "video"), EvaluationTask::kGate);
}

TEST(EvaluationTask, RefusesWhatItDoesNotKnow) {
  for (const auto& [task, format] : {std::pair("classify", "tape"), std::pair("guess", "idx"),
                                     std::pair("", ""), std::pair("track", "yolo")}) {
    const Status status = evaluation_task(task, format).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << task << " " << format;
    EXPECT_NE(status.message().find("detect reads --format yolo"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace shoal::config

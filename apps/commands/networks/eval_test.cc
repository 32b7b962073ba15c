#include "apps/commands/networks/eval.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/shrink/exits/network/exits_testing.h"

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

namespace shoal::detect {
namespace {

TEST(PrecisionFacts, HaveARateOfImagesAndAHead) {
  Precision precision;
  precision.add({}, {});
  precision.add({}, {});
  EXPECT_EQ(to_json(precision, HeadKind::kYolox, 4).dump(),
            R"({"head":"yolox","images":2,"images_per_s":0.5,"map":0.0,"map50":0.0})");
  EXPECT_EQ(text_of(precision, HeadKind::kYolox),
            "2 images, head yolox: mAP 50 0.00 %, mAP 0.00 %\n");
}

}  // namespace
}  // namespace shoal::detect

namespace shoal::fit {
namespace {

TEST(EvaluationFacts, HaveARateOfImages) {
  Evaluation answers;
  const std::vector<float> scores = {0, 1};
  answers.add(scores, false, 1, 0);
  answers.add(scores, false, 0, 1);
  EXPECT_EQ(object_of(facts_of(answers, 4)).dump(),
            R"({"images":2,"images_per_s":0.5,"top1":50.0,"top5":100.0,"with_nan":0})");
  EXPECT_EQ(facts_of(answers, 4)[1].cell, "50.00 %");
}

TEST(EvaluationFacts, WarnOfScoresThatAreNan) {
  Evaluation answers;
  answers.add(std::vector<float>{0, 1}, false, 1, 0);
  EXPECT_EQ(warning_of(answers), "");
  answers.add(std::vector<float>{0, std::numeric_limits<float>::quiet_NaN()}, false, 1, 1);
  EXPECT_EQ(warning_of(answers), "1 of 2 images have scores that are NaN, which count as wrong");
}

}  // namespace
}  // namespace shoal::fit

namespace shoal::exits {
namespace {

TEST(ExitsEvaluation, HasARowForEachExitAndTheLastClassifier) {
  const auto device = make_reference_device();
  const auto runner = Runner::create(*device, testing::random_multi_exit(1));
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const size_t count = runner->exits().size() + 1;
  ExitsEvaluation seen;
  seen.figures.share.assign(count, 0.5);
  seen.figures.precision.assign(count, 99);
  const auto rows = rows_of(seen, *runner);
  ASSERT_EQ(rows.size(), count);
  EXPECT_EQ(rows[0][0].cell, runner->exits()[0].at);
  EXPECT_EQ(rows[0][1].cell, "50.0 %");
  EXPECT_EQ(rows.back()[0].cell, "the last");
  const std::string json = to_json(seen, *runner, 2).dump();
  EXPECT_NE(json.find(R"("exit_share":[)"), json.npos) << json;
  EXPECT_NE(json.find(R"("mean_macs":)"), json.npos) << json;
  EXPECT_TRUE(summary_text(seen, 2).starts_with("all: top-1 "));
}

}  // namespace
}  // namespace shoal::exits

namespace shoal::watch {
namespace {

TEST(EvaluationRows, OfGatesHaveAShareThoughThereWasNoFrame) {
  EXPECT_EQ(GateEvaluation().skipped_share(), 0);
  const GateEvaluation half{.frames = 4, .skipped = 2};
  EXPECT_NE(to_json(half).dump().find(R"("skipped_share":0.5)"), std::string::npos);
  EXPECT_EQ(text_of(half),
            "4 frames, 50.0 % not looked at; F1 with a look at each 1.0000; gate 0.000 ms\n");
}

TEST(EvaluationRows, OfTracksAreARowForEachAssociation) {
  TrackEvaluation result;
  result.two_scores.add({{1, {0, 0, 10, 10}}}, {{5, {0, 0, 10, 10}}});
  result.plain.add({{1, {0, 0, 10, 10}}}, {});
  const auto rows = rows_of(result);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][1].cell, "100.00 %");
  EXPECT_EQ(rows[1][4].cell, "1") << "misses";
  const std::string json = to_json(result).dump();
  EXPECT_NE(json.find(R"("plain":{"false_alarms":0,)"), json.npos) << json;
  EXPECT_NE(json.find(R"("mota":100.0)"), json.npos) << json;
  EXPECT_EQ(json.find("association"), json.npos) << "for people only";
}

}  // namespace
}  // namespace shoal::watch

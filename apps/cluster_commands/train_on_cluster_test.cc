#include "apps/cluster_commands/train_on_cluster.h"

#include <gtest/gtest.h>

namespace shoal::train_cluster {
namespace {

TEST(TrainingFacts, CompareAStepWithThatOfOneWorker) {
  Figures figures;
  figures.steps = 4;
  figures.step_seconds = 0.5;
  figures.single_seconds = 1;
  figures.bytes = 12'345;
  figures.lost.emplace_back(Code::kUnavailable, "gone");
  const Facts facts = facts_of(figures, 3);
  const std::string json = object_of(facts).dump();
  EXPECT_NE(json.find(R"("speedup":2.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("local_steps":3)"), json.npos) << json;
  EXPECT_NE(json.find(R"("workers_lost":1)"), json.npos) << json;
  EXPECT_EQ(facts[8].cell, "12,345");
}

TEST(TrainingFacts, NameDevicesInValidUtf8) {
  learn::RunRecord record;
  record.micro_batches = 8;
  auto& device = record.devices[0];
  device.name = "pi\xff";
  device.row.share = 2;
  const std::string json = to_json(record).dump();
  EXPECT_NE(json.find("\"name\":\"pi\xEF\xBF\xBD\""), json.npos) << json;
  EXPECT_NE(json.find(R"("share":0.25)"), json.npos) << json;
}

}  // namespace
}  // namespace shoal::train_cluster

#include "shoal/train/run/loop/training_bench.h"

#include <gtest/gtest.h>

#include "shoal/engine/session/model.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit {
namespace {

TEST(TrainingBench, LearnsFromNoise) {
  const auto device = make_reference_device();
  const LoadedGraph loaded = *load_for_batch(*open_model("zoo:lenet5"), 2);
  auto bench = TrainingBench::create(*device, loaded.graph, {});
  ASSERT_TRUE(bench.ok()) << bench.status().message();
  EXPECT_TRUE(bench->step().ok());
  const auto work = bench->work();
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_GT(work->macs, 1e6) << "forward, backward and update";
  EXPECT_NE(work->json.dump().find(R"("elsewhere":[])"), std::string::npos);
}

}  // namespace
}  // namespace shoal::fit

#include "shoal/fit/bench.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/fit/network.h"
#include "shoal/models/model.h"

namespace shoal::fit {
namespace {

const Fact* find(const Facts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts, name, &Fact::name);
  return found != facts.end() ? &*found : nullptr;
}

LatencyRecorder times_of(std::initializer_list<double> all) {
  LatencyRecorder times;
  for (double ms : all) times.add(ms);
  return times;
}

TEST(BenchFacts, CountProductsAsTwoOperations) {
  BenchFacts known{.model = "m", .work = {.macs = 1e9, .json = {{"transfer_ms", 1.5}}}};
  const Facts facts = facts_of(known, times_of({1, 2, 2, 2, 4}));
  EXPECT_EQ(find(facts, "tflops")->value.dump(), "1.0")
      << "two operations in 2 ms, a billion times";
  EXPECT_EQ(find(facts, "median_ms")->cell, "2.000");
  EXPECT_EQ(find(facts, "noise")->value.dump(), "1.0");
  EXPECT_EQ(find(facts, "transfer_ms")->value.dump(), "1.5");
  EXPECT_EQ(find(facts, "runs")->cell, "5");
  known.work = {};
  EXPECT_EQ(find(facts_of(known, times_of({1})), "tflops"), nullptr) << "nobody counted";
}

TEST(BenchFacts, OfClientsAreRequestsASecond) {
  const LoadReport load{.latencies = times_of({1, 1, 1, 1}), .seconds = 2};
  const Facts facts = facts_of("m", {.name = "cpu", .threads = 3}, 4, load);
  EXPECT_EQ(find(facts, "requests_per_s")->cell, "2.0");
  EXPECT_EQ(find(facts, "clients")->cell, "4");
  EXPECT_EQ(find(facts, "threads")->cell, "3");
  EXPECT_EQ(find(facts, "device")->column, "") << "for scripts";
}

TEST(BenchWork, OfAModelIsKnownFromARun) {
  const auto device = make_reference_device();
  const Model model = *open_model("zoo:lenet5");
  Session session = *model.session(*device);
  const auto inputs = random_inputs(session, {});
  const auto work = work_of(session, *inputs, *device);
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_GT(work->macs, 1e5);
  EXPECT_NE(work->json.dump().find(R"("device_name":"reference")"), std::string::npos);
}

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

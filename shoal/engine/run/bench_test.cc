#include "shoal/engine/run/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "shoal/engine/session/model.h"

namespace shoal::fit {
namespace {

const Fact* find(const Facts& facts, std::string_view name) {
  const auto position = std::ranges::find(facts, name, &Fact::name);
  return position != facts.end() ? &*position : nullptr;
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

TEST(BenchNoise, IsSaidWhereAMachineIsBusy) {
  EXPECT_EQ(warning_of(times_of({1, 1, 1.0625, 2})), "") << "the slowest do not count";
  EXPECT_EQ(warning_of(times_of({1, 1.5, 1.5})),
            "this machine is busy: half of the runs took 50 % longer than the fastest tenth");
}

class BenchTurns : public testing::Test {
 protected:
  Status take(const std::string& lines, const Status& run = {}, const Status& measured = {}) {
    std::istringstream stream(lines);
    return take_turns(
        stream,
        [&] {
          log_ += "run ";
          return run;
        },
        [&](double seconds) {
          log_ += std::to_string(seconds) + " ";
          return measured;
        });
  }
  std::string log_;
};

TEST_F(BenchTurns, RunOnceBeforeEachIsMeasured) {
  EXPECT_TRUE(take("0.5\n2\n").ok());
  EXPECT_EQ(log_, "run 0.500000 run 2.000000 ");
  log_.clear();
  EXPECT_TRUE(take("").ok());
  EXPECT_EQ(log_, "");
}

TEST_F(BenchTurns, HaveBoundsWhateverALineSays) {
  EXPECT_TRUE(take("soon\n-1\nnan\ninf\n1e300\n\n").ok());
  EXPECT_EQ(log_,
            "run 0.000000 run 0.000000 run 0.000000 run 3600.000000 run 3600.000000 run 0.000000 ");
}

TEST_F(BenchTurns, EndWithAFailure) {
  EXPECT_EQ(take("1\n1\n", Status(Code::kDeadline, "late")).code(), Code::kDeadline);
  EXPECT_EQ(log_, "run ");
  log_.clear();
  EXPECT_EQ(take("1\n1\n", {}, Status(Code::kInternal, "lost")).code(), Code::kInternal);
  EXPECT_EQ(log_, "run 1.000000 ");
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

}  // namespace
}  // namespace shoal::fit

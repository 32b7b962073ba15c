// Plans for a stream that are measured.
#include "shoal/cluster/benchmarks/measured_stream.h"

#include <gtest/gtest.h>

#include "here.h"

namespace shoal::cluster {
namespace {

class MeasuredStreams : public testing::Test {
 protected:
  Result<std::unique_ptr<MeasuredStream>> deploy(const plan::StreamOptions& options) {
    auto plans = plan::make_stream_plans(graph_, slow_workers(2), options);
    EXPECT_TRUE(plans.ok());
    return MeasuredStream::deploy(cluster_.coordinator(), (*plans)[0]);
  }

  Cluster cluster_{2};
  const Graph graph_ = wide_layers();
};

TEST_F(MeasuredStreams, AnswerRequestsByAllTurns) {
  for (const plan::StreamOptions& options :
       {plan::StreamOptions{.stages = false}, plan::StreamOptions{.replicas = false}}) {
    const auto stream = deploy(options);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    const uint64_t before = cluster_.coordinator().tally().answered;
    const auto seconds = (*stream)->period();
    ASSERT_TRUE(seconds.ok()) << seconds.status().message();
    EXPECT_GT(*seconds, 0);
    EXPECT_GE(cluster_.coordinator().tally().answered - before, 16u);
  }
}

TEST_F(MeasuredStreams, GivePeriodsOfTheEmulatedWorld) {
  const auto stream = deploy({});
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  EXPECT_LT(*(*stream)->period(1e9), 1e-6);
}

TEST_F(MeasuredStreams, AreMeasuredAgainWithoutAWorkerThatIsGone) {
  const auto plans = plan::make_stream_plans(graph_, slow_workers(2), {.replicas = false});
  ASSERT_TRUE(plans.ok());
  int planned = 0;
  const auto stream = MeasuredStream::deploy(
      cluster_.coordinator(), plans->front(),
      [&](const Workers& set) -> Result<plan::StreamPrediction> {
        EXPECT_EQ(set, Workers{0});
        ++planned;
        SHOAL_ASSIGN(auto again,
                     plan::make_stream_plans(graph_, slow_workers(2), {.excluded = {1}}));
        return std::move(again.front());
      });
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  cluster_.worker(1).stop();
  const auto seconds = (*stream)->period();
  EXPECT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_EQ(planned, 1);
}

TEST_F(MeasuredStreams, FailWhereAWorkerIsGoneAndNobodyPlansAgain) {
  const auto stream = deploy({.replicas = false});
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  cluster_.worker(1).stop();
  EXPECT_FALSE((*stream)->period().ok());
}

}  // namespace
}  // namespace shoal::cluster

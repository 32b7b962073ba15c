// Access to clusters, real and emulated, and what their plans are worth.
#include "shoal/cluster/emulate/workers/cluster_access.h"

#include <gtest/gtest.h>

#include "here.h"
#include "shoal/cluster/benchmarks/measured_races.h"
#include "shoal/cluster/device/board.h"
#include "shoal/cluster/emulate/machines/links.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/plan/device_presets.h"

namespace shoal::emulate {
namespace {

using namespace std::chrono_literals;
using cluster::ClusterFolder;

constexpr double kDilation = 30;

// Devices that nothing is as fast as, on cables.
plan::ClusterProfile very_fast(size_t count) {
  plan::ClusterProfile profile =
      plan::uniform_cluster(count, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  for (size_t i = 0; i < count; ++i) {
    profile.workers[i] = plan::uniform_worker(cluster::address_of(static_cast<int>(i)), 1e15, 1e15);
  }
  return profile;
}

// Workers of an emulated cluster, over TLS, which take as long as devices that are slower than
// their cluster says.
class Emulated : public testing::Test {
 protected:
  static constexpr size_t kWorkers = 2;

  Emulated() {
    for (size_t i = 0; i < kWorkers; ++i) {
      const std::string name = cluster::address_of(static_cast<int>(i));
      devices_.push_back(make_paced_device(
          *reference_, {plan::uniform_worker(name, 3e7, 3e7), [] { return 1.0; }}));
      net::TlsOptions tls;
      tls.channel.beat = 1min;  // no peer is lost because this machine is busy
      transports_.push_back(*emulation_.transport(
          *folder_.authority()->issue(name, net::TestCluster::now()), name, std::move(tls)));
      workers_.push_back(std::make_unique<cluster::Worker>(cluster::WorkerOptions{.name = name},
                                                           *devices_.back(), *transports_.back()));
      auto listener = *transports_.back()->listen(":0");
      EXPECT_TRUE(folder_.add({name, listener->address()}).ok());
      workers_.back()->serve(std::move(listener));
    }
  }
  ~Emulated() override { workers_.clear(); }

  std::unique_ptr<ClusterAccess> open(bool real_deploy = false, bool exclusive = false) const {
    auto access = ClusterAccess::open(
        folder_, {.emulation = emulation_, .real_deploy = real_deploy, .exclusive = exclusive});
    EXPECT_TRUE(access.ok()) << access.status().message();
    return *std::move(access);
  }
  bool is_shaped() const { return (*open_shaping(emulation_.media))->load(); }

  net::TestFolder files_;
  const Emulation emulation_{very_fast(kWorkers), files_.path(), kDilation};
  const ClusterFolder folder_ =
      *ClusterFolder::create(files_.path() / "owner", net::TestCluster::now());
  const std::unique_ptr<Device> reference_ = make_reference_device();
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<net::Transport>> transports_;
  std::vector<std::unique_ptr<cluster::Worker>> workers_;
};

TEST_F(Emulated, LinksAreSlowForRequestsOnly) {
  const auto access = open();
  EXPECT_TRUE(access->emulated());
  EXPECT_EQ(access->dilation(), kDilation);
  EXPECT_EQ(access->profile(cluster::wide_layers())->links[1].latency_seconds,
            emulation_.cluster.links[1].latency_seconds);
  EXPECT_FALSE(is_shaped());
  {
    const ShapedLinks shaped(*access);
    EXPECT_TRUE(is_shaped());
  }
  EXPECT_FALSE(is_shaped());

  const cluster::ClusterOptions options = access->for_device({.timeout = 2s});
  EXPECT_EQ(options.timeout, 60s);
  EXPECT_FALSE(options.standby);
  EXPECT_EQ(options.load_interval, 0s);
  options.compiling(false);
  EXPECT_TRUE(is_shaped());
  options.compiling(true);
  EXPECT_FALSE(is_shaped());

  access->set_dilation(2 * kDilation);
  EXPECT_EQ((*emulation_.shared_dilation())->get(), 2 * kDilation) << "all processes follow";
}

TEST_F(Emulated, WorkersAreSlowInTurn) {
  const auto access = open();
  for (size_t turn = 0; turn < 2 * kWorkers; ++turn) {
    ASSERT_TRUE(access->slow_down_in_turn(turn, 3).ok());
    for (size_t i = 0; i < kWorkers; ++i) {
      EXPECT_EQ(emulation_.slowness_of(cluster::address_of(static_cast<int>(i))),
                i == turn % kWorkers ? 3 : 1);
    }
  }
}

TEST_F(Emulated, WeightsMayTravelOverSlowLinks) {
  EXPECT_TRUE(open()->deploys_ahead());
  const auto access = open(/*real_deploy=*/true, /*exclusive=*/true);
  EXPECT_FALSE(access->deploys_ahead());
  EXPECT_TRUE(access->deploys_really());
  EXPECT_TRUE(is_shaped());
  access->shape(false);
  EXPECT_TRUE(is_shaped());
  EXPECT_TRUE(access->for_device({}).standby);
  EXPECT_EQ(*folder_.next_epoch(), 2u) << "it is in charge alone";
}

TEST_F(Emulated, DevicesThatAreLateAreMeasuredAgainOrFail) {
  const auto access = open();
  const Graph graph = cluster::wide_layers();
  plan::Comparison made = *plan::compare_plans(graph, *access->profile(graph), {});
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };

  const auto strict =
      measure_plans(*access, made, {}, {.seconds = 0, .strict = true, .note = note});
  EXPECT_EQ(strict.status().code(), Code::kExhausted);
  EXPECT_TRUE(notes.empty());

  const auto figures = measure_plans(*access, made, {}, {.seconds = 0, .note = note});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(notes[0].starts_with("emulated devices were ")) << notes[0];
  EXPECT_GE(figures->dilation, kDilation);
  EXPECT_EQ(access->dilation(), kDilation) << "as it was";
  EXPECT_FALSE(is_shaped());
}

// Two reference devices of this process.
class Real : public testing::Test {
 protected:
  static std::shared_ptr<cluster::ClusterConnection> connect(
      cluster::ConnectionOptions options = {.profile = cluster::slow_workers(2)}) {
    std::vector<cluster::BoardDevice> devices;
    for (int i = 0; i < 2; ++i)
      devices.push_back({cluster::address_of(i), make_reference_device()});
    return *cluster::connect_board(*cluster::start_board(std::move(devices)), std::move(options));
  }

  const Graph graph_ = cluster::wide_layers();
  ClusterAccess access_{connect()};
};

TEST_F(Emulated, StragglersNeedPlansThatSurvive) {
  const auto access = open();
  EXPECT_TRUE(check_stragglers(*access, 1).ok());
  EXPECT_EQ(check_stragglers(*access, 0).code(), Code::kInvalidArgument);
}

TEST_F(Real, WorkersHaveTheTimeOfThisWorld) {
  EXPECT_EQ(check_stragglers(access_, 1).code(), Code::kInvalidArgument) << "nobody can slow them";

  EXPECT_FALSE(access_.emulated() || access_.deploys_ahead());
  EXPECT_EQ(access_.dilation(), 1);
  EXPECT_EQ(access_.lull(), 0ms);
  access_.shape(true);  // links are what they are
  const cluster::ClusterOptions options = access_.for_device({.timeout = 2s});
  EXPECT_EQ(options.timeout, 2s);
  EXPECT_TRUE(options.standby);
  EXPECT_EQ(options.load_interval, 5s);
}

TEST_F(Real, PlansAreMeasuredBesideOneWorker) {
  plan::Comparison made = *plan::compare_plans(graph_, *access_.profile(graph_), {});
  int rounds = 0;
  const auto figures =
      measure_plans(access_, made, {}, {.seconds = 0, .progress = [&](double) { ++rounds; }});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  EXPECT_EQ(figures->rounds, 3u);
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(figures->lateness, 0);
  EXPECT_EQ(std::ranges::count(figures->single.compute_seconds, 0), 1) << "one works alone";
  EXPECT_EQ(std::ranges::count(figures->many.compute_seconds, 0), 0);
  const plan::Evidence evidence = evidence_of(made, *figures);
  EXPECT_EQ(evidence.predicted_speedup, made.speedup());
  EXPECT_EQ(evidence.measured_speedup, figures->single.seconds / figures->many.seconds);
}

TEST_F(Real, ProfilesAreForgottenWhereTheyPredictBadly) {
  const net::TestFolder cache;
  ClusterAccess access(connect({.cache = cache.path()}));
  const cluster::ProfileStore store(cache.path(), graph_, access.connection().workers()[1]);
  const auto is_stored = [&] { return store.load(std::chrono::system_clock::now()).has_value(); };
  const plan::Comparison made = *plan::compare_plans(graph_, *access.profile(graph_), {});
  const PlanFigures predicted{.single = made.single.timeline,
                              .many = made.best().timeline,
                              .slowdown = plan::largest_slowdown(made.cluster)};
  judge_profiles(access, made, predicted);
  EXPECT_TRUE(is_stored()) << "it predicts well";

  PlanFigures slower = predicted;  // all of it, so that the speed-up is as predicted
  slower.single.seconds *= 2;
  slower.many.seconds *= 2;
  judge_profiles(access, made, slower);
  EXPECT_FALSE(is_stored());

  ASSERT_TRUE(access.profile(graph_).ok());
  EXPECT_TRUE(is_stored()) << "it was measured again";
  PlanFigures better = predicted;
  better.many.seconds /= 3;
  judge_profiles(access, made, better);
  EXPECT_FALSE(is_stored()) << "one worker is as fast as predicted, and the speed-up is not";
}

// If no worker has the memory for all of it, one worker's time is the predicted one.
TEST_F(Real, OneWorkerWithoutTheMemoryIsNotMeasured) {
  plan::Comparison made = *plan::compare_plans(graph_, *access_.profile(graph_), {});
  made.single_fits = false;
  const double predicted = made.single.timeline.seconds;
  const auto figures = measure_plans(access_, made, {}, {.seconds = 0});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  EXPECT_EQ(figures->single.seconds, predicted);
}

TEST_F(Real, StreamsAreMeasured) {
  const plan::StreamComparison made = *plan::compare_streams(graph_, *access_.profile(graph_), {});
  const auto seconds = measure_stream(access_, made, {}, false);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 1 / made.single_per_second) << "these workers are not so slow";
  auto beside = measure_stream_beside_one(access_, made, {}, false);
  ASSERT_TRUE(beside.ok()) << beside.status().message();
  EXPECT_LT(beside->single, 1 / made.single_per_second) << "measured, too";
  EXPECT_GT(beside->stream, 0);
  plan::StreamComparison large = made;
  large.single_fits = false;
  beside = measure_stream_beside_one(access_, large, {}, false);
  ASSERT_TRUE(beside.ok()) << beside.status().message();
  EXPECT_EQ(beside->single, 1 / made.single_per_second) << "as predicted";
}

TEST_F(Real, StreamsAreBalanced) {
  const plan::StreamComparison made = *plan::compare_streams(graph_, *access_.profile(graph_), {});
  const auto steps = measure_balance(access_, made, 0);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  ASSERT_FALSE(steps->empty());
  EXPECT_EQ(steps->front().move, "");
  EXPECT_GT(steps->front().seconds, 0);
}

TEST_F(Real, ChecksNeedPlansThatSurvive) {
  const auto plan = [&](int survive) {
    return (*plan::make_plans(graph_, *access_.profile(graph_), {.survive = survive}))[0];
  };
  const auto judge = make_reference_device();
  EXPECT_FALSE(race_checks(access_, plan(0), *judge, 2, 0).ok());
  const auto result = race_checks(access_, plan(1), *judge, 2, 0);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->plain.count(), result->verified.count());
  EXPECT_TRUE(result->accused.empty());
}

}  // namespace
}  // namespace shoal::emulate

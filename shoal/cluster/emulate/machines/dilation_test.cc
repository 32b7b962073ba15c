#include "shoal/cluster/emulate/machines/dilation.h"

#include <gtest/gtest.h>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/plan/device_presets.h"

namespace shoal::emulate {
namespace {

plan::ClusterProfile cluster_of(size_t workers, const char* device, const char* link) {
  return plan::uniform_cluster(workers, *plan::find_device(device), *plan::find_link(link));
}

TEST(ChooseDilation, LeavesTimeToBeAllDevices) {
  const double few = choose_dilation(cluster_of(2, "pi5", "wifi-43.8"), 2);
  const double many = choose_dilation(cluster_of(64, "pi5", "wifi-43.8"), 2);
  EXPECT_GE(few, 1);
  EXPECT_GT(many, few);
  EXPECT_LT(choose_dilation(cluster_of(64, "pi5", "wifi-43.8"), 64), many) << "more cores";
}

TEST(ChooseDilation, MakesLatenciesLongBesideThisMachines) {
  plan::ClusterProfile cluster = cluster_of(2, "nexus5x", "wifi-43.8");
  const double slow_link = choose_dilation(cluster, 2);
  cluster.links[1].latency_seconds = 0.2e-3;
  EXPECT_GT(choose_dilation(cluster, 2), slow_link);
  EXPECT_EQ(choose_dilation(cluster, 2), 10) << "0.2 ms here are a tenth of 0.2 ms there";
}

// A plan of two workers: the first computes two tasks, the second one that is not waited for.
class Lateness : public testing::Test {
 protected:
  Lateness() {
    plan_.segments.resize(2);
    plan_.segments[0].tasks.resize(2);
    plan_.segments[0].tasks[1].worker = 1;
    plan_.segments[1].tasks.resize(1);
    predicted_.tasks = {{{0, 1}, {0, 0}}, {{2, 4}}};
    predicted_.seconds = 5;
  }
  double of(std::vector<std::vector<plan::Span>> tasks, double seconds) const {
    plan::Timeline measured;
    measured.tasks = std::move(tasks);
    measured.seconds = seconds;
    return lateness_of(plan_, predicted_, measured);
  }

  plan::Plan plan_;
  plan::Timeline predicted_;
};

TEST_F(Lateness, IsWhatTheLatestWorkerComputedTooLong) {
  EXPECT_EQ(of(predicted_.tasks, 5), 0);
  EXPECT_DOUBLE_EQ(of({{{1, 2.25}, {0, 9}}, {{3, 5.25}}}, 10), 0.05) << "a quarter second each";
}

TEST_F(Lateness, IsNotMadeUpForByTasksThatAreShorter) {
  EXPECT_DOUBLE_EQ(of({{{0, 2}, {0, 0}}, {{2, 3}}}, 5), 1 / 5.0);
}

TEST_F(Lateness, OfWorkersIsNotAddedUp) {
  predicted_.tasks[0][1] = {0, 1};
  EXPECT_DOUBLE_EQ(of({{{0, 2}, {0, 4}}, {{2, 4}}}, 5), 3 / 5.0);
}

TEST(DilationSearch, TakesFiguresThatAreGood) {
  EXPECT_EQ(DilationSearch(3, 0.01).next(0), std::nullopt);
  EXPECT_EQ(DilationSearch(3, 0.01).next(kGoodLateness), std::nullopt);
}

TEST(DilationSearch, GoesSlowerByAsMuchAsItWasLate) {
  EXPECT_DOUBLE_EQ(*DilationSearch(3, 0.001).next(0.06), 6) << "twice at least";
  EXPECT_DOUBLE_EQ(*DilationSearch(3, 0.001).next(0.10), 9) << "1.5 times 10 % of 5 %";
  EXPECT_DOUBLE_EQ(*DilationSearch(3, 0.001).next(0.90), 24) << "eight times at most";
}

TEST(DilationSearch, EndsAfterFourMeasurements) {
  DilationSearch search(1, 1e-6);
  EXPECT_TRUE(search.next(0.06));
  EXPECT_TRUE(search.next(0.06));
  EXPECT_TRUE(search.next(0.06));
  EXPECT_FALSE(search.next(0.06));
}

TEST(DilationSearch, EndsWhereNoMoreIsAllowed) {
  DilationSearch search(3, 1e-6);
  EXPECT_DOUBLE_EQ(*search.next(1), 24);
  EXPECT_DOUBLE_EQ(*search.next(1), 3 * DilationSearch::kMaxRaise);
  EXPECT_FALSE(search.next(1));
}

TEST(DilationSearch, TakesWhatThereIsWhereMoreWouldTakeTooLong) {
  EXPECT_FALSE(DilationSearch(3, 10).next(0.5)) << "30 s already";
  EXPECT_FALSE(DilationSearch(3, 4).next(0.5)) << "not for a quarter more";
  EXPECT_DOUBLE_EQ(*DilationSearch(3, 2).next(0.5), 7.5) << "15 s are allowed";
}

struct Figures {
  double dilation = 0, lateness = 0;
};

// Figures that are late by these shares, one after the other.
class LeastLate : public testing::Test {
 protected:
  Result<Figures> measure(const std::vector<double>& lateness) {
    return measure_least_late(3, 1e-6, [&](double dilation) -> Result<Figures> {
      dilations_.push_back(dilation);
      if (dilations_.size() > lateness.size()) return invalid("one too many");
      return Figures{dilation, lateness[dilations_.size() - 1]};
    });
  }

  std::vector<double> dilations_;
};

TEST_F(LeastLate, IsTheFirstWhereItIsOnTime) {
  EXPECT_EQ(measure({0.01})->dilation, 3);
  EXPECT_EQ(dilations_, std::vector<double>{3});
}

TEST_F(LeastLate, IsMeasuredInSlowerMotion) {
  EXPECT_EQ(measure({0.06, 0.01})->dilation, 6);
  EXPECT_EQ(dilations_, (std::vector<double>{3, 6}));
}

TEST_F(LeastLate, IsTheBestWhereNoneIsOnTime) {
  const auto best = measure({0.10, 0.07, 0.09, 0.08});
  ASSERT_TRUE(best.ok()) << best.status().message();
  EXPECT_EQ(best->lateness, 0.07);
  EXPECT_EQ(best->dilation, dilations_[1]);
  EXPECT_EQ(dilations_.size(), 4u);
}

TEST_F(LeastLate, FailsAsAMeasurementDoes) {
  EXPECT_EQ(measure({}).status().message(), "one too many");
  dilations_.clear();
  EXPECT_EQ(measure({0.06}).status().message(), "one too many");
}

TEST(SharedDilation, IsOneForAllProcesses) {
  const auto folder = TemporaryFolder::make();
  const auto one = *SharedDilation::open(folder->path(), 3);
  const auto other = *SharedDilation::open(folder->path(), 3);
  EXPECT_EQ(other->get(), 3);
  one->set(12);
  EXPECT_EQ(other->get(), 12);
  other->reset();
  EXPECT_EQ(one->get(), 3);
  EXPECT_FALSE(SharedDilation::open("/no/such/folder", 3).ok());
}

}  // namespace
}  // namespace shoal::emulate

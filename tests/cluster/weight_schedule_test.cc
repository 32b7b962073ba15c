// Weights on slow links, in virtual time: the links are those of the emulation (net/link), without
// their threads.
#include "shoal/cluster/coordinator/policy/weight_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "shoal/cluster/net/link/link_clock.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using Time = WeightSchedule::Time;
using Duration = BulkPacer::Duration;

constexpr size_t kHeaders = 80;  // of a chunk, about
constexpr size_t kAnswer = 60;
const Time kStart{1000s};

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

Hash name_of(int weight) { return Hash(kHashBytes, static_cast<char>('a' + weight)); }

// A coordinator that sends weights, its workers, and the links between them.
class World {
 public:
  // Both directions of all links share `air`; without, each has its own.
  World(std::vector<net::LinkSpec> links, std::shared_ptr<net::Medium> air = nullptr)
      : schedule_(10s) {
    for (const net::LinkSpec& spec : links) {
      net::LinkOptions options;
      options.spec = spec;
      options.sender = options.receiver = net::Radio::create();
      if (air != nullptr) options.media = {air};
      links_.push_back({net::LinkClock(options, 1), net::LinkClock(options, 2)});
    }
  }

  WeightSchedule& schedule() { return schedule_; }
  Time now() const { return now_; }
  size_t bytes_sent() const { return sent_; }
  const std::vector<Duration>& latencies() const { return latencies_; }

  void at(Time time, std::function<void()> what) { events_.emplace(time, std::move(what)); }

  // Runs until nothing happens any more.
  void run() {
    send();
    while (!events_.empty()) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      event.mapped()();
      send();
    }
  }

  // Small requests to the first worker, one after another.
  void ask(int times) {
    if (times == 0) return;
    const Time begin = now_;
    const Time there = links_[0].out.transfer(3'200, now_).arrives;
    at(there, [=, this] {
      const Time back = links_[0].back.transfer(100, now_).arrives;
      at(back, [=, this] {
        latencies_.push_back(now_ - begin);
        at(now_ + 5ms, [=, this] { ask(times - 1); });
      });
    });
  }

 private:
  struct Link {
    net::LinkClock out, back;
  };

  void send() {
    while (const auto chunk = schedule_.next(now_)) {
      const auto w = static_cast<size_t>(chunk->worker);
      sent_ += chunk->bytes + kHeaders;
      const Time arrives = links_[w].out.transfer(chunk->bytes + kHeaders, now_).arrives;
      at(arrives, [this, w, chunk = *chunk] {
        uint64_t& have = stored_[{w, chunk.hash}];
        EXPECT_EQ(chunk.offset, have) << "each byte once, in order";
        have += chunk.bytes;
        at(links_[w].back.transfer(kAnswer, now_).arrives, [this, chunk, have = have] {
          schedule_.acknowledge(chunk.worker, chunk.hash, have, now_);
        });
      });
    }
    const Time next = schedule_.next_time(now_);
    if (next > now_ && next < now_ + 1s && next != timer_) at(timer_ = next, [] {});
  }

  WeightSchedule schedule_;
  Time now_ = kStart;
  std::vector<Link> links_;
  std::multimap<Time, std::function<void()>> events_;
  std::map<std::pair<size_t, Hash>, uint64_t> stored_;
  std::vector<Duration> latencies_;
  size_t sent_ = 0;
  Time timer_;
};

net::LinkSpec link(double megabits, Duration latency) {
  net::LinkSpec spec;
  spec.bits_per_second = 1e6 * megabits;
  spec.latency = latency;
  return spec;
}

Duration p99(std::vector<Duration> latencies) {
  std::ranges::sort(latencies);
  return latencies[latencies.size() * 99 / 100];
}

// The check of slow links, with a model of 8 MB for each worker.
void use_a_radio_and_give_way(const net::LinkSpec& spec) {
  constexpr uint64_t kBytes = 8'000'000;
  const std::vector<net::LinkSpec> wifi(4, spec);
  World calm(wifi, net::Medium::create());
  calm.ask(300);
  calm.run();

  World busy(wifi, net::Medium::create());
  for (int w = 0; w < 4; ++w)
    busy.schedule().add(w, {{name_of(0), kBytes / 2}, {name_of(1), kBytes / 2}});
  busy.ask(400);
  busy.run();
  EXPECT_TRUE(busy.schedule().is_done());
  const double took = seconds(busy.now() - kStart);
  EXPECT_GE(8.0 * 4 * kBytes / 43.8e6, 0.85 * took);
  EXPECT_LE(static_cast<double>(busy.bytes_sent()), 1.03 * 4 * kBytes);
  EXPECT_LE(p99(busy.latencies()), 2 * p99(calm.latencies()));
}

TEST(Weights, UseARadioAndGiveWayToRequests) { use_a_radio_and_give_way(link(43.8, 1ms)); }

// As threads do that wake up late.
TEST(Weights, GiveWayWhereAnswersComeLate) {
  net::LinkSpec spec = link(43.8, 1ms);
  spec.jitter = 2ms;
  use_a_radio_and_give_way(spec);
}

// Air in which delays vary by three times what they are.
TEST(Weights, UseALinkWhoseDelayVaries) {
  constexpr uint64_t kBytes = 8'000'000;
  net::LinkSpec spec = link(43.8, 1ms);
  spec.jitter = 6ms;
  World world({spec, spec}, net::Medium::create());
  for (int w = 0; w < 2; ++w) world.schedule().add(w, {{name_of(0), kBytes}});
  world.run();
  EXPECT_GE(8.0 * 2 * kBytes / 43.8e6, 0.6 * seconds(world.now() - kStart));
}

// Threads that wake up late make acknowledgements late, not the link slow.
TEST(Weights, UseAFastLinkBetweenBusyMachines) {
  constexpr uint64_t kBytes = 100'000'000;
  net::LinkSpec spec = link(941, 200us);
  spec.jitter = 20ms;
  World world({spec, spec}, net::Medium::create());
  for (int w = 0; w < 2; ++w) world.schedule().add(w, {{name_of(0), kBytes}});
  world.run();
  EXPECT_GE(8.0 * 2 * kBytes / 941e6, 0.3 * seconds(world.now() - kStart));
}

TEST(Weights, UseFastLinksToo) {
  constexpr uint64_t kBytes = 100'000'000;
  World world({link(941, 200us)});
  world.schedule().add(0, {{name_of(0), kBytes}});
  world.run();
  EXPECT_GE(8.0 * kBytes / 941e6, 0.85 * seconds(world.now() - kStart));
}

// The slow one decides how long it takes.
TEST(Weights, UseWiresOfTheirOwnAtOnce) {
  constexpr uint64_t kBytes = 4'000'000;
  World world({link(20, 300us), link(94.1, 300us), link(94.1, 300us)});
  for (int w = 0; w < 3; ++w) world.schedule().add(w, {{name_of(0), kBytes}});
  world.run();
  EXPECT_GE(8.0 * kBytes / 20e6, 0.75 * seconds(world.now() - kStart));
}

// A satellite: the window grows with what the link holds.
TEST(Weights, FillALongLink) {
  constexpr uint64_t kBytes = 400'000'000;
  World world({link(100, 250ms)});
  world.schedule().add(0, {{name_of(0), kBytes}});
  world.run();
  EXPECT_GE(8.0 * kBytes / 100e6, 0.5 * seconds(world.now() - kStart));
}

// A decider that is told by hand what happens.
class Schedule : public testing::Test {
 protected:
  // Sends and acknowledges until `bytes` have been acknowledged; returns the bytes that were sent.
  uint64_t send(uint64_t bytes) {
    uint64_t sent = 0;
    while (sent < bytes) {
      const auto chunk = schedule_.next(now_);
      if (!chunk) break;
      sent += chunk->bytes;
      now_ += 1ms;
      schedule_.acknowledge(chunk->worker, chunk->hash, chunk->offset + chunk->bytes, now_);
    }
    return sent;
  }

  WeightSchedule schedule_{10s};
  Time now_ = kStart;
};

TEST_F(Schedule, GoesOnWhereItStopped) {
  schedule_.add(0, {{name_of(0), 100'000, 90'000}, {name_of(1), 50'000, 50'000}, {name_of(2), 7}});
  EXPECT_EQ(schedule_.progress().at(0).done, 140'000u);
  EXPECT_EQ(send(1'000'000), 10'007u);
  EXPECT_TRUE(schedule_.is_done());
  EXPECT_EQ(schedule_.progress().at(0).done, schedule_.progress().at(0).total);
}

TEST_F(Schedule, HasNothingToDoWithoutWeights) {
  EXPECT_TRUE(schedule_.is_done());
  schedule_.add(0, {});
  EXPECT_TRUE(schedule_.is_done());
  EXPECT_FALSE(schedule_.next(now_));
}

TEST_F(Schedule, SendsAWrongWeightAgain) {
  schedule_.add(0, {{name_of(0), 3'000}, {name_of(1), 5'000}});
  const auto chunk = schedule_.next(now_);
  ASSERT_TRUE(chunk);
  schedule_.acknowledge(0, name_of(0), 0, now_ += 1ms);  // all of it, with another hash
  EXPECT_EQ(schedule_.progress().at(0).done, 0u);
  EXPECT_EQ(send(1'000'000), 8'000u);
  EXPECT_TRUE(schedule_.is_done());
}

TEST_F(Schedule, GivesUpAWorkerThatKeepsNothing) {
  schedule_.add(3, {{name_of(0), 3'000}});
  while (const auto chunk = schedule_.next(now_)) {
    if (schedule_.failure(now_)) break;
    schedule_.acknowledge(3, chunk->hash, 0, now_ += 1ms);
  }
  ASSERT_TRUE(schedule_.failure(now_));
  EXPECT_EQ(schedule_.failure(now_)->worker, 3);
  EXPECT_EQ(schedule_.failure(now_)->status.code(), Code::kCorrupt);
}

// Chunks that were on their way when the worker lost the weight count for nothing.
TEST_F(Schedule, RestartsOnceForAllChunksOnTheirWay) {
  schedule_.add(0, {{name_of(0), 1'000'000}});
  send(100'000);
  std::vector<WeightChunk> chunks;
  while (const auto chunk = schedule_.next(now_ += 5ms)) chunks.push_back(*chunk);
  ASSERT_GE(chunks.size(), 2u);
  for (size_t i = 0; i < chunks.size(); ++i) schedule_.acknowledge(0, name_of(0), 0, now_ += 1ms);
  EXPECT_FALSE(schedule_.failure(now_));
  EXPECT_EQ(send(2'000'000), 1'000'000u);
  EXPECT_TRUE(schedule_.is_done());
}

TEST_F(Schedule, SkipsWhatAnotherCoordinatorHasSent) {
  schedule_.add(0, {{name_of(0), 100'000}});
  const auto chunk = schedule_.next(now_);
  ASSERT_TRUE(chunk);
  schedule_.acknowledge(0, name_of(0), 60'000, now_ += 1ms);
  EXPECT_EQ(schedule_.next(now_)->offset, 60'000u);
}

TEST_F(Schedule, WaitsForAWorkerThatIsSlow) {
  schedule_.add(0, {{name_of(0), 100'000}});
  for (int i = 0; i < 5; ++i) {
    const auto chunk = schedule_.next(now_);
    ASSERT_TRUE(chunk);
    EXPECT_FALSE(schedule_.failure(now_ += 9s)) << "a minute, but a chunk every nine seconds";
    schedule_.acknowledge(0, chunk->hash, chunk->offset + chunk->bytes, now_);
  }
}

TEST_F(Schedule, GivesUpAWorkerThatIsSilent) {
  schedule_.add(0, {{name_of(0), 100'000}});
  EXPECT_FALSE(schedule_.failure(now_ += 1h)) << "it was sent nothing";
  ASSERT_TRUE(schedule_.next(now_));
  EXPECT_FALSE(schedule_.failure(now_ + 9'999ms));
  EXPECT_EQ(schedule_.next_time(now_), now_ + 10s);
  ASSERT_TRUE(schedule_.failure(now_ + 10s));
  EXPECT_EQ(schedule_.failure(now_ + 10s)->status.code(), Code::kDeadline);
}

TEST(WeightsProgress, IsSummedOverWorkers) {
  const WeightProgress all =
      sum_of({{0, {.done = 1, .total = 2, .sent = 4}}, {3, {.done = 8, .total = 16, .sent = 32}}});
  EXPECT_EQ(all.done, 9u);
  EXPECT_EQ(all.total, 18u);
  EXPECT_EQ(all.sent, 36u);
  EXPECT_EQ(sum_of({}).total, 0u);
}

TEST_F(Schedule, RefusesNonsense) {
  schedule_.add(0, {{name_of(0), 100'000}});
  schedule_.acknowledge(0, name_of(0), 1, now_);  // nothing was sent
  schedule_.acknowledge(7, name_of(0), 1, now_);
  EXPECT_FALSE(schedule_.failure(now_));
  ASSERT_TRUE(schedule_.next(now_));
  schedule_.acknowledge(0, name_of(0), 100'001, now_);
  ASSERT_TRUE(schedule_.failure(now_));
  EXPECT_EQ(schedule_.failure(now_)->status.code(), Code::kCorrupt);
}

// However the link and its noise are: sizes stay within their bounds, and something may go.
TEST(BulkPacer, NeverStops) {
  BulkPacer pacer;
  Time now = kStart;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(pacer.may_send(now));
    const size_t bytes = pacer.chunk_bytes();
    ASSERT_GE(bytes, BulkPacer::kSmallestChunk);
    ASSERT_LE(bytes, BulkPacer::kLargestChunk);
    ASSERT_GE(pacer.window_bytes(), bytes);
    const auto departure = pacer.sent(bytes, now);
    now += i % 100 < 50 ? Duration(i % 3) : Duration(1s) * (i % 7);
    pacer.acknowledged(0, bytes, departure, now);
    ASSERT_EQ(pacer.in_flight(), 0u);
  }
}

}  // namespace
}  // namespace shoal::cluster

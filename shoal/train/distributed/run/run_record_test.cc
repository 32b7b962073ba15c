#include "shoal/train/distributed/run/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shoal::learn {
namespace {

using State = DeviceRow::State;
using Kind = RunRecord::Event::Kind;

Hub::Time at(double seconds) {
  return Hub::Time(std::chrono::nanoseconds(static_cast<int64_t>(1e9 * seconds)));
}

RunRecord two_devices() {
  RunRecord about{.batch = 64, .micro_batches = 8};
  about.devices[0] = {.name = "pi", .link = {.latency_seconds = 0.002, .bytes_per_second = 5e6}};
  about.devices[1].name = "phone";
  return about;
}

// However many steps there are: few moments, in order, and the means over them are those of all.
TEST(RunRecorder, KeepsFewMomentsWithTheirMeans) {
  for (const int64_t steps : {1, 2, 255, 511, 512, 513, 5000}) {
    RunRecorder recorder(two_devices());
    recorder.begin(at(0));
    double losses = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const double loss = static_cast<double>(step % 7);
      losses += loss;
      const DeviceTable devices = {{0, {.state = State::kWorking, .share = step % 9}},
                                   {1, {.state = State::kWorking, .share = 8 - step % 9}}};
      recorder.end_step({.step = step, .loss = loss, .seconds = 2, .sent_bytes = 60}, devices,
                        at(2 * static_cast<double>(step + 1)));
    }
    const RunRecord record = recorder.record();
    ASSERT_LE(record.moments.size(), 2 * RunRecorder::kMostMoments);
    EXPECT_GE(record.moments.size(), std::min<size_t>(static_cast<size_t>(steps), 256));
    double sum = 0;
    int64_t before = 0;
    for (const RunRecord::Moment& moment : record.moments) {
      const auto count = static_cast<double>(moment.step - before);
      ASSERT_GE(count, 1);
      sum += count * moment.loss;
      before = moment.step;
      EXPECT_DOUBLE_EQ(moment.seconds, 2 * static_cast<double>(moment.step));
      EXPECT_NEAR(moment.step_seconds, 2, 1e-9);
      double shares = 0;
      for (const auto& [worker, share] : moment.shares) shares += share;
      EXPECT_NEAR(shares, 1, 1e-9);
    }
    EXPECT_EQ(before, steps);
    EXPECT_NEAR(sum, losses, 1e-9 * static_cast<double>(steps));
  }
}

// Of every third step nobody knows the bytes: the mean is that of the others.
TEST(RunRecorder, LeavesOutBytesThatAreNotKnown) {
  RunRecorder recorder(two_devices());
  for (int64_t step = 0; step < 600; ++step) {
    const double bytes = step % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : 60;
    recorder.end_step({.step = step, .sent_bytes = bytes, .received_bytes = bytes},
                      {{0, {.state = State::kWorking, .share = 8}}}, at(0));
    EXPECT_EQ(std::isnan(recorder.record().moments[0].bytes), step < 511);  // then two are one
  }
  for (const RunRecord::Moment& moment : recorder.record().moments) {
    EXPECT_DOUBLE_EQ(moment.bytes, 60);
  }
}

TEST(RunRecorder, KnowsWhoWasLostWhen) {
  RunRecorder recorder(two_devices(), 10);  // ten seconds for each of the workers'
  recorder.begin(at(100));
  recorder.begin(at(150));  // that of another hub
  recorder.end_step({.step = 0, .seconds = 20}, {{0, {.state = State::kWorking, .share = 8}}},
                    at(120));
  recorder.update(1, {{1, {.state = State::kJoining}}}, at(130));
  recorder.update(3, {{0, {.state = State::kLost, .changed = 3}}}, at(140));
  recorder.update(3, {{0, {.state = State::kLost, .changed = 3}}}, at(145));
  const RunRecord record = recorder.record();
  ASSERT_EQ(record.events.size(), 3u);
  const auto is = [&](size_t i, Kind kind, int worker, int64_t step, double seconds) {
    const RunRecord::Event& event = record.events[i];
    return event.kind == kind && event.worker == worker && event.step == step &&
           event.seconds == seconds;
  };
  EXPECT_TRUE(is(0, Kind::kLost, 1, 1, 0));  // not there when the run began
  EXPECT_TRUE(is(1, Kind::kJoined, 1, 2, 3));
  EXPECT_TRUE(is(2, Kind::kLost, 0, 4, 4));
  EXPECT_DOUBLE_EQ(record.moments[0].step_seconds, 2);
}

// A worker that comes and goes all day does not fill memory.
TEST(RunRecorder, KeepsTheFirstEvents) {
  RunRecorder recorder(two_devices());
  for (int64_t i = 0; i < 5000; ++i) {
    recorder.update(i, {{0, {.state = i % 2 == 0 ? State::kLost : State::kWorking}}}, at(0));
  }
  EXPECT_EQ(recorder.record().events.size(), RunRecorder::kMostEvents);
}

TEST(DeviceCells, SayShareSpeedLinkLagAndState) {
  using Cells = std::vector<std::string>;
  RunRecord record = two_devices();
  RunRecord::Device& pi = record.devices[0];
  EXPECT_EQ(device_cells(record, record.devices[1]),
            (Cells{"phone", "0.0 %", "", "", "", "", "joining"}));
  pi.row = {State::kWorking, {}, 3, 0.1, 0.0125, 8, 2};
  EXPECT_EQ(device_cells(record, pi),
            (Cells{"pi", "37.5 %", "80.0", "40.0 Mbit/s, 2.00 ms", "12.5 ms", "25 %", "working"}));
  record.local_steps = 4;  // a micro-batch has four steps then
  pi.row = {State::kLost, 5, 0, 0.1, 0, 1, 1};
  EXPECT_EQ(device_cells(record, pi),
            (Cells{"pi", "0.0 %", "320", "40.0 Mbit/s, 2.00 ms", "", "100 %", "lost at step 21"}));
  pi.row.state = State::kWorking;
  EXPECT_EQ(device_cells(record, pi).back(), "back at step 21");
  EXPECT_EQ(device_cells(record, pi).size(), device_header().size());
}

}  // namespace
}  // namespace shoal::learn

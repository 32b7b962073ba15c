// Signs of life, driven by hand: no clock decides what these tests see.
#include "shoal/cluster/net/channel/framed_channel.h"

#include <gtest/gtest.h>

#include <future>

#include "shoal/cluster/net/channel/memory_stream.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

class Beats : public testing::Test {
 protected:
  Beats() {
    auto [left, right] = make_memory_streams(size_t{64} << 10);
    left_ = std::make_unique<FramedChannel>(std::move(left), Peer{"right", ""}, options_, nullptr);
    right_ = std::make_unique<FramedChannel>(std::move(right), Peer{"left", ""}, options_, nullptr);
  }
  static Status state(FramedChannel& channel) { return channel.receive(kNoWait, {}).status(); }

  ChannelOptions options_;
  std::unique_ptr<FramedChannel> left_;
  std::unique_ptr<FramedChannel> right_;
};

TEST_F(Beats, KeepAnIdleChannelAlive) {
  for (int i = 0; i < 100; ++i) {
    left_->beat();
    right_->beat();
  }
  EXPECT_EQ(state(*left_).code(), Code::kDeadline);
  EXPECT_EQ(state(*right_).code(), Code::kDeadline);
}

TEST_F(Beats, NoticeAPeerThatFallsSilent) {
  right_->beat();
  left_->beat();
  for (int i = 1; i < options_.missed_beats; ++i) left_->beat();
  EXPECT_EQ(state(*left_).code(), Code::kDeadline);
  left_->beat();
  const Status gone = state(*left_);
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_EQ(gone.message(), "right: no sign of life for 320 ms");
  EXPECT_EQ(send(*left_, bytes_of("hello")).code(), Code::kUnavailable);
}

// The peer's last sign came right after our beat.
TEST_F(Beats, NoticeSilenceWithinHalfASecond) {
  left_->beat();
  right_->beat();
  std::chrono::milliseconds passed{0};
  while (state(*left_).code() != Code::kUnavailable) {
    left_->beat();
    passed += options_.beat;
  }
  EXPECT_LE(passed, std::chrono::milliseconds(500));
}

TEST_F(Beats, WakeAReceiver) {
  right_->beat();
  auto receiver =
      std::async(std::launch::async, [&] { return left_->receive(soon(), {}).status(); });
  while (receiver.wait_for(std::chrono::seconds(0)) != std::future_status::ready) left_->beat();
  EXPECT_EQ(receiver.get().code(), Code::kUnavailable);
}

TEST_F(Beats, WaitForThePeerToBegin) {
  for (int i = 0; i < 100; ++i) left_->beat();
  EXPECT_EQ(state(*left_).code(), Code::kDeadline);
}

TEST_F(Beats, AreNotMissedWhileAFrameWaitsToBeReceived) {
  EXPECT_TRUE(send(*right_, bytes_of("unread"), Data(100)).ok());
  for (int i = 0; i < 100; ++i) left_->beat();
  auto frame = left_->receive(soon(), {});
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(text_of(frame->control), "unread");
}

TEST_F(Beats, KeepWhatTheyHearForTheReceiver) {
  EXPECT_TRUE(send_urgent(*right_, {}).ok());
  EXPECT_TRUE(send_urgent(*right_, bytes_of("second")).ok());
  left_->beat();
  left_->beat();
  ASSERT_TRUE(left_->receive(soon(), {}).ok());
  auto second = left_->receive(soon(), {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(text_of(second->control), "second");
}

TEST_F(Beats, AreNotSentWhereThereIsTalk) {
  EXPECT_TRUE(send(*left_, bytes_of("talk")).ok());
  const uint64_t talk = left_->traffic().sent;
  left_->beat();
  ASSERT_TRUE(right_->receive(soon(), {}).ok());
  EXPECT_EQ(state(*right_).code(), Code::kDeadline);
  EXPECT_EQ(right_->traffic().received, talk);
  left_->beat();
  EXPECT_EQ(state(*right_).code(), Code::kDeadline);
  EXPECT_GT(right_->traffic().received, talk);
}

TEST_F(Beats, NoticeThatThePeerHasClosed) {
  right_->close();
  left_->beat();
  EXPECT_EQ(send(*left_, bytes_of("hello")).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::net

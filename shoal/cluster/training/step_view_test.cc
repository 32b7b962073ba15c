#include "shoal/cluster/training/step_view.h"

#include <gtest/gtest.h>

namespace shoal::train_cluster {
namespace {

learn::RunRecord two_devices() {
  learn::RunRecord record{.steps = 40};
  record.devices[0].name = "hall";
  record.devices[2].name = "an\nattic" + std::string(40, 'x');
  return record;
}

class StepViews : public testing::Test {
 protected:
  StepView::Show show() {
    return [this](const StepView::Picture& picture) { shown_.push_back(picture); };
  }

  Options options_;
  std::vector<StepView::Picture> shown_;
};

TEST_F(StepViews, ShowEveryStepAndItsLoss) {
  options_.steps = 7;
  StepView view(options_, false, show());
  options_.on_devices(two_devices());
  EXPECT_TRUE(shown_.empty());
  options_.on_step(0, 2.5);
  options_.on_step(4, 0.125);
  ASSERT_EQ(shown_.size(), 2u);
  EXPECT_EQ(shown_[0].done, 1u);
  EXPECT_EQ(shown_[0].steps, 7u);
  EXPECT_EQ(shown_[0].note, "loss 2.5000");
  EXPECT_EQ(shown_[1].done, 5u);
  EXPECT_EQ(shown_[1].note, "loss 0.1250");
  EXPECT_TRUE(shown_[1].table.empty()) << "nobody wants to see devices";
}

TEST_F(StepViews, ShowDevicesFromTheFirstStepOn) {
  StepView view(options_, true, show());
  options_.on_devices(two_devices());
  EXPECT_TRUE(shown_.empty()) << "no step is done";
  options_.on_step(0, 1);
  options_.on_devices(two_devices());
  ASSERT_EQ(shown_.size(), 2u);
  EXPECT_EQ(shown_[0].steps, 40u) << "as many as the run has, not the options";
  EXPECT_EQ(shown_[0].table, device_lines(two_devices()));
  EXPECT_EQ(shown_[1].note, "loss 1.0000");
}

TEST_F(StepViews, CountAtLeastOneStep) {
  StepView view(options_, true, show());
  options_.on_step(0, 1);
  EXPECT_EQ(shown_.at(0).steps, 1u) << "before the run says how many there are";
}

TEST(DeviceLines, HaveShortPrintableNames) {
  const auto lines = device_lines(two_devices());
  size_t named = 0;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), line.npos);
    EXPECT_EQ(line.find(std::string(25, 'x')), line.npos);
    named += line.find("hall") != line.npos || line.find("an\\x0aattic") != line.npos ? 1 : 0;
  }
  EXPECT_EQ(named, 2u);
}

}  // namespace
}  // namespace shoal::train_cluster

#include "shoal/train/run/loop/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

using testing::make_network;
using testing::Rows;

class Train : public ::testing::Test {
 protected:
  void SetUp() override {
    write("train-", Rows(60, 1));
    write("test-", Rows(25, 2));
    SHOAL_CHECK(onnx::write_onnx(make_network(1), folder_ / "begin.onnx").ok());
  }
  void write(const std::string& prefix, const Rows& data) {
    const auto count = static_cast<int64_t>(data.size());
    Tensor images({DType::kU8, {count, 4, 4}}), labels({DType::kI64, {count}});
    for (size_t i = 0; i < data.size(); ++i) {
      const Example example = *data.at(i);
      std::ranges::copy(example.image.data<uint8_t>(),
                        images.data<uint8_t>().begin() + static_cast<ptrdiff_t>(16 * i));
      labels.data<int64_t>()[i] = example.label;
    }
    SHOAL_CHECK(write_npy(folder_ / (prefix + "images.npy"), images).ok());
    SHOAL_CHECK(write_npy(folder_ / (prefix + "labels.npy"), labels).ok());
  }
  TrainingOptions options() const {
    TrainingOptions options{.model = (folder_ / "begin.onnx").string(),
                            .data = folder_,
                            .format = "npy",
                            .epochs = 5,
                            .batch = 10,
                            .out = folder_ / "out.onnx",
                            .checkpoint = folder_ / "c.safetensors"};
    options.optimizer.rule = train::OptimizerOptions::Rule::kAdam;
    options.optimizer.rate = 0.05f;
    return options;
  }
  std::unique_ptr<Device> device_ = make_reference_device();
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
};

TEST_F(Train, WritesANetworkWithTheAccuracyItReports) {
  const auto result = train(*device_, options());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->reason, StopReason::kDone);
  EXPECT_GT(result->evaluation.top1(), 70);
  EXPECT_EQ(result->progress.results.size(), 5u);
  EXPECT_EQ(result->held_out->size(), 25u);
  auto session = open_model(options().out.string())->session(*device_);
  ASSERT_TRUE(session.ok());
  const auto again = evaluate(*session, *result->held_out, {.batch = 5});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->correct(), result->evaluation.correct());
}

TEST_F(Train, TakesAModelAndDataThatAreOpenAlready) {
  const auto model = open_model(options().model);
  ASSERT_TRUE(model.ok());
  const auto data =
      make_training_data(std::make_shared<Rows>(60, 1), std::make_shared<Rows>(25, 2), options());
  ASSERT_TRUE(data.ok());
  TrainingOptions unnamed = options();
  unnamed.model = "";
  unnamed.data = "";
  const auto result = train(*device_, *model, *data, unnamed);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->evaluation.correct(), train(*device_, options())->evaluation.correct());
}

TEST_F(Train, ThatIsCancelledWritesACheckpointAndNoNetwork) {
  const std::atomic<bool> cancel = true;
  const auto result = train(*device_, options(), {.cancel = &cancel});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reason, StopReason::kCancelled);
  EXPECT_TRUE(std::filesystem::exists(options().checkpoint));
  EXPECT_FALSE(std::filesystem::exists(options().out));
}

TEST_F(Train, LearnsFromATeacherByName) {
  TrainingOptions good = options();
  good.out = folder_ / "teacher.onnx";
  ASSERT_TRUE(train(*device_, good).ok());
  // Wrong labels: what is right can only come from the teacher.
  Tensor labels = *read_npy(folder_ / "train-labels.npy");
  for (int64_t& label : labels.data<int64_t>()) label = (label + 1) % 4;
  ASSERT_TRUE(write_npy(folder_ / "train-labels.npy", labels).ok());
  TrainingOptions taught = options();
  taught.teacher = good.out.string();
  taught.loss.distill = 1;
  taught.epochs = 10;
  const auto result = train(*device_, taught);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->evaluation.top1(), 60);
}

TEST_F(Train, NamesWhatIsMissing) {
  TrainingOptions absent = options();
  absent.model = "zoo:unknown";
  EXPECT_EQ(train(*device_, absent).status().code(), Code::kNotFound);
  absent = options();
  absent.teacher = (folder_ / "absent.onnx").string();
  absent.loss.distill = 1;
  const auto result = train(*device_, absent);
  EXPECT_EQ(result.status().code(), Code::kNotFound);
  EXPECT_NE(result.status().message().find("absent.onnx"), std::string_view::npos);
  absent = options();
  absent.data = folder_ / "absent";
  EXPECT_EQ(train(*device_, absent).status().code(), Code::kNotFound);
}

TEST_F(Train, RefusesOptionsWithoutMeaning) {
  TrainingOptions wrong = options();
  wrong.epochs = 0;
  EXPECT_EQ(train(*device_, wrong).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::fit

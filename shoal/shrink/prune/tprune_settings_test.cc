#include "shoal/shrink/prune/tprune_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"
#include "shoal/engine/inputs/npy.h"

namespace shoal::shrink {
namespace {

TEST(TPruneSettings, AreRead) {
  TPruneSettings settings;
  expect_described(settings_of(settings));
  const auto usual = resolve(settings);
  ASSERT_TRUE(usual.ok()) << usual.status().message();
  EXPECT_EQ(usual->target.macs, 0.5);
  EXPECT_EQ(usual->sparse.penalty, train::Regularizer::Penalty::kHoyer);
  EXPECT_EQ(usual->recipe.optimizer.rule, train::OptimizerOptions::Rule::kAdam);
  settings.target = "parameters=0.3";
  settings.penalty = "lasso";
  settings.optimizer = "sgd";
  const auto other = resolve(settings);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->target.parameters, 0.3);
  EXPECT_EQ(other->sparse.penalty, train::Regularizer::Penalty::kLasso);
  EXPECT_EQ(other->recipe.optimizer.rule, train::OptimizerOptions::Rule::kSgd);
  settings.target = "small";
  EXPECT_EQ(resolve(settings).status().code(), Code::kInvalidArgument);
}

TEST(TPruneSettings, NameTheArraysThatThereAre) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  TPruneSettings settings;
  settings.inputs = (folder->path() / "x.npy").string();
  settings.test_labels = (folder->path() / "y.npy").string();
  ASSERT_TRUE(write_npy(settings.inputs, Tensor({DType::kF32, {2, 3}})).ok());
  ASSERT_TRUE(write_npy(settings.test_labels, Tensor({DType::kI64, {4}})).ok());
  const auto data = read_data(settings);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->inputs.shape(), Shape({2, 3}));
  EXPECT_EQ(data->test_labels.shape(), Shape({4}));
  EXPECT_FALSE(data->labels.defined() || data->test_inputs.defined());
  settings.labels = (folder->path() / "none.npy").string();
  EXPECT_FALSE(read_data(settings).ok());
}

}  // namespace
}  // namespace shoal::shrink

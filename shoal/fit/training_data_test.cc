#include "shoal/fit/training_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "shoal/base/temporary_folder.h"
#include "shoal/data/npy.h"
#include "shoal/fit/testing.h"

namespace shoal::fit {
namespace {

TEST(Split, PartsAllExamplesByTheSeed) {
  const auto [training, held_out] = split(100, 0.25, 1);
  EXPECT_EQ(training.size(), 75u);
  EXPECT_EQ(held_out.size(), 25u);
  std::vector<size_t> all(training);
  all.insert(all.end(), held_out.begin(), held_out.end());
  std::ranges::sort(all);
  std::vector<size_t> wanted(100);
  std::iota(wanted.begin(), wanted.end(), size_t{0});
  EXPECT_EQ(all, wanted);
  EXPECT_EQ(split(100, 0.25, 1), split(100, 0.25, 1));
  EXPECT_NE(split(100, 0.25, 1), split(100, 0.25, 2));
  EXPECT_TRUE(split(100, 0, 1).second.empty());
}

class TrainingDataOf : public ::testing::Test {
 protected:
  void write(const std::string& prefix, int64_t count) {
    Tensor images({DType::kU8, {count, 2, 2}}), labels({DType::kI64, {count}});
    for (int64_t i = 0; i < count; ++i) {
      images.data<uint8_t>()[static_cast<size_t>(4 * i)] = static_cast<uint8_t>(i);
    }
    SHOAL_CHECK(write_npy(folder_ / (prefix + "images.npy"), images).ok());
    SHOAL_CHECK(write_npy(folder_ / (prefix + "labels.npy"), labels).ok());
  }
  TrainingOptions options() const { return {.data = folder_, .format = "npy", .batch = 10}; }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
};

TEST_F(TrainingDataOf, AFolderWithASplitIsTheFolders) {
  write("train-", 40);
  write("test-", 7);
  const auto data = open_training_data(options());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->training->size(), 40u);
  EXPECT_EQ(data->held_out->size(), 7u);
}

TEST_F(TrainingDataOf, AFolderWithoutASplitIsSplit) {
  write("", 40);
  TrainingOptions quarter = options();
  quarter.hold_out = 0.25;
  const auto data = open_training_data(quarter);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->training->size(), 30u);
  EXPECT_EQ(data->held_out->size(), 10u);
}

TEST_F(TrainingDataOf, ALimitIsARandomChoice) {
  write("train-", 40);
  write("test-", 7);
  TrainingOptions some = options();
  some.limit = 12;
  const auto data = open_training_data(some);
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->training->size(), 12u);
  EXPECT_EQ(data->held_out->size(), 7u);
  size_t in_place = 0;
  for (size_t i = 0; i < 12; ++i) {
    in_place += data->training->at(i)->image.data<uint8_t>()[0] == i ? 1 : 0;
  }
  EXPECT_LT(in_place, 6u);
}

TEST_F(TrainingDataOf, AMissingFolderIsNotFound) {
  TrainingOptions absent = options();
  absent.data = folder_ / "absent";
  EXPECT_EQ(open_training_data(absent).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::fit

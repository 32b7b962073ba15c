#include "shoal/train/run/setup/training_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

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

// The first pixel of every example, which is its number in the folder.
std::vector<int> numbers(const Dataset& data) {
  std::vector<int> found;
  for (size_t i = 0; i < data.size(); ++i) {
    found.push_back(data.at(i)->image.data<uint8_t>()[0]);
  }
  std::ranges::sort(found);
  return found;
}

TEST_F(TrainingDataOf, AComparisonNeverChoosesByTheTest) {
  write("train-", 40);
  write("test-", 7);
  const auto judged = open_judged_data(options()), again = open_judged_data(options());
  ASSERT_TRUE(judged.ok()) << judged.status().message();
  EXPECT_EQ(judged->test->size(), 7u);
  std::vector<int> all = numbers(*judged->data.training);
  const std::vector<int> choosing = numbers(*judged->data.held_out);
  EXPECT_EQ(all.size(), 36u);
  EXPECT_EQ(choosing.size(), 4u);
  EXPECT_EQ(choosing, numbers(*again->data.held_out));
  TrainingOptions other = options();
  other.seed = 2;
  EXPECT_NE(choosing, numbers(*open_judged_data(other)->data.held_out));
  all.insert(all.end(), choosing.begin(), choosing.end());
  std::ranges::sort(all);
  std::vector<int> wanted(40);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(all, wanted);
}

TEST_F(TrainingDataOf, AComparisonWithoutATestMakesOne) {
  write("", 40);
  TrainingOptions quarter = options();
  quarter.hold_out = 0.25;
  const auto judged = open_judged_data(quarter);
  ASSERT_TRUE(judged.ok()) << judged.status().message();
  std::vector<int> all;
  const std::pair<const Dataset*, size_t> parts[] = {{judged->data.training.get(), 23},
                                                     {judged->data.held_out.get(), 7},
                                                     {judged->test.get(), 10}};
  for (const auto& [part, size] : parts) {
    EXPECT_EQ(part->size(), size);
    std::ranges::copy(numbers(*part), std::back_inserter(all));
  }
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end()) << "an example is in two parts";
}

TEST_F(TrainingDataOf, AMissingFolderIsNotFound) {
  TrainingOptions absent = options();
  absent.data = folder_ / "absent";
  EXPECT_EQ(open_training_data(absent).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::fit

#include "shoal/shrink/retraining/calibration_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

using testing::make_network;

class CalibrationFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const Tensor& tensor) {
    SHOAL_CHECK(write_npy(folder_ / name, tensor).ok());
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
  const Graph graph_ = make_network(1);
};

TEST_F(CalibrationFiles, AreTheInputsOfTheGraphInOrder) {
  for (const int i : {2, 0, 1}) {
    Tensor x({DType::kF32, {1, 1, 4, 4}});
    x.data<float>()[0] = static_cast<float>(i);
    write(std::to_string(i) + ".npy", x);
  }
  const auto data = folder_examples(graph_, folder_, 100, {});
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->count, 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto inputs = data->at(i);
    ASSERT_TRUE(inputs.ok() && inputs->size() == 1);
    EXPECT_EQ((*inputs)[0].data<float>()[0], static_cast<float>(i));
  }
}

TEST_F(CalibrationFiles, ThatDoNotFitAreNamedWhenTheyAreRead) {
  write("wrong.npy", Tensor({DType::kF32, {1, 1, 4, 5}}));
  const auto data = folder_examples(graph_, folder_, 100, {});
  ASSERT_TRUE(data.ok());
  const auto inputs = data->at(0);
  EXPECT_EQ(inputs.status().code(), Code::kInvalidArgument);
  EXPECT_NE(inputs.status().message().find("wrong.npy"), std::string_view::npos);
}

TEST_F(CalibrationFiles, NeedAGraphOfOneInput) {
  write("x.npy", Tensor({DType::kF32, {1}}));
  Graph two;
  const ValueId a = two.add_input("a", {DType::kF32, {1}}),
                b = two.add_input("b", {DType::kF32, {1}});
  two.mark_output(*two.add(ops::add, {a, b}));
  EXPECT_EQ(folder_examples(two, folder_, 100, {}).status().code(), Code::kInvalidArgument);
}

TEST_F(CalibrationFiles, NeedAFolderThatHasSome) {
  EXPECT_EQ(folder_examples(graph_, folder_, 100, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(folder_examples(graph_, folder_ / "absent", 100, {}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::fit

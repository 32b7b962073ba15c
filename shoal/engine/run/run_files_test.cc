// Files of a run.
#include "shoal/engine/run/run_files.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/engine/session/model.h"

namespace shoal::fit {
namespace {

class RunFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const Tensor& tensor) {
    EXPECT_TRUE(write_npy(folder_.path() / name, tensor).ok());
    return (folder_.path() / name).string();
  }
  static Tensor filled(float x) {
    Tensor tensor({DType::kF32, {2}});
    for (float& one : tensor.data<float>()) one = x;
    return tensor;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  static TensorInfo input(const char* name) {
    return {.name = name, .dtype = DType::kF32, .dims = std::vector<int64_t>{2}};
  }
  const std::vector<TensorInfo> inputs_ = {input("a"), input("b=c"), input("d")};
};

TEST_F(RunFiles, GoToTheInputTheyNameOrToTheNext) {
  const std::string one = write("1.npy", filled(1)), two = write("2.npy", filled(2));
  const std::vector<std::string> texts = {one, "d=" + two};
  const auto read = read_inputs(texts, inputs_, {});
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at("a").data<float>()[1], 1);
  EXPECT_EQ(read->at("d").data<float>()[1], 2);
}

TEST_F(RunFiles, RefuseInputsThatTheModelDoesNotHave) {
  const std::string one = write("1.npy", filled(1));
  const auto refusal = [&](std::vector<std::string> texts) {
    return std::string(read_inputs(texts, inputs_, {}).status().message());
  };
  EXPECT_EQ(refusal({"x=" + one}), "the model has no input x");
  EXPECT_EQ(refusal({one, one, one, one}), "more inputs than the model has: " + one);
  EXPECT_NE(refusal({"a=/nowhere.npy"}), "");
}

TEST_F(RunFiles, OutputsStayInTheirFolder) {
  const auto out = folder_.path() / "out";
  const std::string longest(300, 'x');
  ASSERT_TRUE(write_outputs({{"../up", filled(3)}, {longest, filled(4)}}, out).ok());
  EXPECT_EQ(read_npy(out / ".._up.npy")->data<float>()[0], 3);
  EXPECT_EQ(read_npy(out / (std::string(200, 'x') + ".npy"))->data<float>()[0], 4);
  EXPECT_FALSE(write_outputs({{"y", filled(5)}}, write("file", filled(1))).ok());
}

TEST_F(RunFiles, LabelsAreLines) {
  ASSERT_TRUE(write_file(folder_.path() / "labels", "a\n\nb c").ok());
  EXPECT_EQ(*read_labels(folder_.path() / "labels"), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(read_labels(folder_.path() / "none").status().code(), Code::kNotFound);
}

TEST(Scores, AreOneRowOfFloats) {
  for (const auto& [type, want] :
       std::vector<std::pair<TensorType, bool>>{{{DType::kF32, {10}}, true},
                                                {{DType::kF32, {1, 10}}, true},
                                                {{DType::kF32, {2, 10}}, false},
                                                {{DType::kF32, {1, 1}}, false},
                                                {{DType::kF32, {}}, false},
                                                {{DType::kI64, {10}}, false}}) {
    EXPECT_EQ(is_scores(Tensor(type)), want) << to_string(type);
  }
}

TEST(BuiltinSamples, AreClassifiedAsTheDigitsThatTheyAre) {
  const auto device = make_reference_device();
  Session session = *open_model(std::string(kDigitsModel))->session(*device);
  const auto classified = classify_samples(session);
  ASSERT_TRUE(classified.ok()) << classified.status().message();
  ASSERT_EQ(classified->size(), 10u);
  for (size_t digit = 0; digit < 10; ++digit) {
    EXPECT_EQ((*classified)[digit].best.index, digit);
    EXPECT_GT((*classified)[digit].best.probability, 0.5);
  }
}

TEST(BuiltinSamples, AreARowEach) {
  const auto rows = rows_of({{"sample_7.png", {.index = 7, .probability = 0.75}}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(object_of(rows[0]).dump(), R"({"digit":7,"image":"sample_7.png","share":0.75})");
  EXPECT_EQ(rows[0][2].cell, "75.0 %");
}

}  // namespace
}  // namespace shoal::fit

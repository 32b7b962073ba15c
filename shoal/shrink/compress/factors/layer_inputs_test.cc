#include <gtest/gtest.h>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/factors/factorise.h"

namespace shoal::compress {
namespace {

class LayerInputsTest : public testing::Test {
 protected:
  LayerInputsTest() {
    auto graph = parse_text(
        "input x f32[1,2]\nconst w f32[2,2] = identity\na = Neg(x)\ny = MatMul(a, w)\noutput y\n",
        ops::find);
    SHOAL_CHECK(graph.ok());
    graph_ = *std::move(graph);
  }

  // Example i is (1, 0) for i < `first`, then (0, 1).
  LayerInputs inputs(size_t count, size_t first = 0) {
    const CalibrationData examples{count, [first](size_t i) -> Result<std::vector<Tensor>> {
                                     const float x = i < first ? 1 : 0;
                                     return std::vector{Tensor::of<float>({1, 2}, {x, 1 - x})};
                                   }};
    const LayerPlace place{&graph_.nodes()[1], 1};
    auto all = inputs_of(graph_, std::span(&place, 1), {*device_, examples});
    SHOAL_CHECK(all.ok() && all->size() == 1);
    return std::move((*all)[0]);
  }

  // The square of C^½ at (i, i).
  static double moment(const LayerInputs& inputs, size_t i) {
    const auto whitening = inputs.moment->whitening();
    SHOAL_CHECK(whitening.ok());
    return product(whitening->root, whitening->root)(i, i);
  }

  Graph graph_;
  std::unique_ptr<Device> device_ = make_reference_device();
};

// Six of eight examples count, all of them (-1, 0), and as many inputs as there are features.
TEST_F(LayerInputsTest, AreJudgedByOthersThanThoseThatCount) {
  const LayerInputs seen = inputs(8, 6);
  ASSERT_EQ(seen.judged.size(), 2u);
  for (const Tensor& x : seen.judged) EXPECT_EQ(x.data<float>()[1], -1);
  EXPECT_NEAR(moment(seen, 0), 7.0 / 8, 1e-12);
  EXPECT_NEAR(moment(seen, 1), 1.0 / 8, 1e-12);
}

TEST_F(LayerInputsTest, CountAndAreJudgedByIfThereIsOne) {
  const LayerInputs seen = inputs(1, 1);
  ASSERT_EQ(seen.judged.size(), 1u);
  EXPECT_NEAR(moment(seen, 0), 2.0 / 3, 1e-12);
  EXPECT_NEAR(moment(seen, 1), 1.0 / 3, 1e-12);
}

TEST_F(LayerInputsTest, AreRandomIfThereIsNone) {
  const LayerInputs seen = inputs(0);
  EXPECT_FALSE(seen.moment);
  ASSERT_EQ(seen.judged.size(), 1u);
  EXPECT_NE(seen.judged[0].data<float>()[0], seen.judged[0].data<float>()[1]);
}

TEST_F(LayerInputsTest, KeepAFewToJudgeBy) { EXPECT_EQ(inputs(100).judged.size(), 8u); }

}  // namespace
}  // namespace shoal::compress

#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// Some of them no class.
Tensor labels(std::mt19937& rng, int64_t samples, int64_t classes) {
  Tensor tensor({DType::kI64, {samples}});
  std::uniform_int_distribution<int64_t> any(-1, classes);
  for (int64_t& label : tensor.data<int64_t>()) label = any(rng);
  tensor.data<int64_t>()[0] = 0;  // so that one counts
  return tensor;
}

TEST(CrossEntropy, Agrees) {
  std::mt19937 rng(1);
  for (const auto& [samples, classes] : {std::pair{64, 10}, {1, 1}, {7, 1000}, {3, 17}}) {
    Tensor scores = random_floats(rng, {samples, classes});
    const Tensor wanted = labels(rng, samples, classes);
    for (const float range : {1.0f, 300.0f}) {  // at the larger, most shares of a sum are zero
      for (float& x : scores.data<float>()) x *= range;
      expect_agreement(ops::softmax_cross_entropy_loss, {scores, wanted}, {}, "rows", 1e-6f);
      expect_agreement(ops::softmax_cross_entropy_loss, {scores, wanted},
                       {{"ignore_index", int64_t{2}}}, "rows", 1e-6f);
    }
  }
}

TEST(CrossEntropy, LeavesToOthersWhatItCannotDo) {
  std::mt19937 rng(1);
  const Tensor scores = random_floats(rng, {6, 5});
  const Tensor wanted = labels(rng, 6, 5);
  const Tensor weights = random_floats(rng, {5});
  expect_agreement(ops::softmax_cross_entropy_loss, {scores, wanted, weights}, {}, "reference");
  expect_agreement(ops::softmax_cross_entropy_loss, {scores, wanted},
                   {{"reduction", std::string("sum")}}, "reference");
}

}  // namespace
}  // namespace shoal::cpu

#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

std::vector<Tensor> resized_to(std::mt19937& rng, const Shape& from, const Shape& to) {
  const std::vector<int64_t> sizes(to.begin(), to.end());
  return {random_floats(rng, from), Tensor(), Tensor(),
          Tensor::of<int64_t>({std::ssize(sizes)}, sizes)};
}

// Rows and columns, one of them, and both with channels after them; larger, smaller and mixed.
const std::pair<Shape, Shape> kCases[] = {{{2, 5, 7, 9}, {2, 5, 14, 18}},
                                          {{1, 6, 11, 11, 16}, {1, 6, 22, 22, 16}},
                                          {{1, 3, 20, 31}, {1, 3, 10, 40}},
                                          {{3, 9, 5}, {3, 9, 13}},
                                          {{4, 6, 3}, {7, 6, 3}},
                                          {{2, 13, 8, 21}, {2, 26, 5, 21}},
                                          {{5, 6}, {5, 6}},
                                          {{2, 1, 1, 3}, {2, 8, 5, 3}}};

TEST(Resize, Agrees) {
  std::mt19937 rng(1);
  for (const auto& [from, to] : kCases) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      for (const char* coordinates :
           {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}) {
        SCOPED_TRACE(to_string(from) + " to " + to_string(to) + ", " + mode + ", " + coordinates);
        expect_agreement(ops::resize, resized_to(rng, from, to),
                         {{"mode", std::string(mode)},
                          {"coordinate_transformation_mode", std::string(coordinates)}},
                         "lines", 1e-6f);
      }
    }
  }
}

TEST(Resize, LeavesTheOutsideAndThreeAxesToTheReference) {
  std::mt19937 rng(1);
  const Attributes linear{{"mode", std::string("linear")}};
  expect_agreement(ops::resize, resized_to(rng, {2, 3, 4, 5}, {4, 3, 8, 5}), linear, "reference");
  std::vector<Tensor> inputs = resized_to(rng, {1, 1, 4, 4}, {1, 1, 8, 8});
  inputs[1] = Tensor::of<float>({8}, {0, 0, -0.5f, -0.5f, 1, 1, 1.5f, 1.5f});
  expect_agreement(ops::resize, inputs,
                   {{"mode", std::string("linear")},
                    {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                    {"extrapolation_value", 10.0f}},
                   "reference");
}

}  // namespace
}  // namespace shoal::cpu

#include "shoal/model/ops/window.h"

#include <gtest/gtest.h>

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;

Node node_with(Attributes attributes) {
  Node node;
  node.attributes = std::move(attributes);
  return node;
}

// The single axis of a pool of one spatial axis.
WindowAxis axis_of(int64_t input, Attributes attributes) {
  return window_of(node_with(std::move(attributes)), {1, 1, input}).spatial()[0];
}

std::string refusal(Attributes attributes, const Shape& x = {1, 1, 8}) {
  auto window = require_window(node_with(std::move(attributes)), x);
  return window.ok() ? "" : std::string(window.status().message());
}

TEST(Window, RoundsDownUnlessCeilModeIsSet) {
  EXPECT_EQ(axis_of(6, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}}).output, 2);
  const Attributes ceil{{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  EXPECT_EQ(axis_of(6, ceil).output, 3);
}

TEST(Window, DropsAWindowThatStartsInThePaddingAtTheEnd) {
  const WindowAxis axis = axis_of(2, {{"kernel_shape", Ints{1}},
                                      {"strides", Ints{2}},
                                      {"pads", Ints{0, 1}},
                                      {"ceil_mode", int64_t{1}}});
  EXPECT_EQ(axis.output, 1);
}

TEST(Window, PadsTheOddOneAtTheEndForSameUpperAndAtTheBeginningForSameLower) {
  const WindowAxis upper =
      axis_of(5, {{"kernel_shape", Ints{4}}, {"auto_pad", std::string("SAME_UPPER")}});
  EXPECT_EQ(upper.output, 5);
  EXPECT_EQ(upper.pad_begin, 1);
  EXPECT_EQ(upper.pad_end, 2);
  const WindowAxis lower =
      axis_of(5, {{"kernel_shape", Ints{4}}, {"auto_pad", std::string("SAME_LOWER")}});
  EXPECT_EQ(lower.pad_begin, 2);
  EXPECT_EQ(lower.pad_end, 1);
}

TEST(Window, IgnoresPadsWhereAutoPadIsGiven) {
  const WindowAxis axis = axis_of(
      5, {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}, {"auto_pad", std::string("VALID")}});
  EXPECT_EQ(axis.output, 3);
  EXPECT_EQ(axis.pad_begin, 0);
}

// taps() and outputs() against the definition, over all small geometries.
TEST(Window, FindsTheTapsAndOutputsInsideTheInput) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 2, 5}) {
      for (int64_t pad : {0, 1, 7}) {
        const WindowAxis axis = axis_of(4, {{"kernel_shape", Ints{3}},
                                            {"strides", Ints{stride}},
                                            {"dilations", Ints{dilation}},
                                            {"pads", Ints{pad, 8}}});
        for (int64_t o = 0; o < axis.output; ++o) {
          for (int64_t k = 0; k < axis.kernel; ++k) {
            const bool inside = axis.position(o, k) >= 0 && axis.position(o, k) < axis.input;
            const Range taps = axis.taps(o), outputs = axis.outputs(k);
            EXPECT_EQ(k >= taps.begin && k < taps.end, inside);
            EXPECT_EQ(o >= outputs.begin && o < outputs.end, inside);
          }
        }
      }
    }
  }
}

TEST(Window, GivesTilesTheReceptiveFieldAndThePadsThatRemain) {
  const Node node = node_with({{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
  const Shape x{2, 4, 8, 8};
  const ReceptiveField field =
      receptive_field(window_of(node, x), x, Region{{1, 0, 0, 2}, {2, 4, 4, 8}});
  EXPECT_EQ(field.x, (Region{{1, 0, 0, 1}, {2, 4, 5, 8}}));
  EXPECT_EQ(field.pads, (Ints{1, 0, 0, 1}));
}

TEST(Window, ReadsNothingForATileThatLiesInThePadding) {
  const Node node = node_with({{"kernel_shape", Ints{2}}, {"pads", Ints{4, 4}}});
  const Shape x{1, 1, 3};
  for (const Range out : {Range{0, 2}, Range{8, 10}}) {
    const ReceptiveField field =
        receptive_field(window_of(node, x), x, Region{{0, 0, out.begin}, {1, 1, out.end}});
    EXPECT_EQ(field.x.shape().count(), 0);
    EXPECT_EQ(field.pads, (Ints{3, 0}));
  }
}

TEST(Window, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(refusal({}), "kernel_shape is missing");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3, 3}}}), "kernel_shape has 2 elements, should have 1");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{0}}}), "kernel_shape holds 0, which is out of range");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3}}, {"strides", Ints{0}}}),
            "strides holds 0, which is out of range");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3}}, {"dilations", Ints{-1}}}),
            "dilations holds -1, which is out of range");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3}}, {"pads", Ints{-1, 0}}}),
            "pads holds -1, which is out of range");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3}}, {"pads", Ints{1}}}),
            "pads has 1 elements, should have 2");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{9}}}),
            "a kernel that spans 9 is larger than the padded input of 8");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{3}}, {"auto_pad", std::string("SAME")}}),
            "auto_pad is SAME, should be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{1}}}, {8, 8}),
            "the input has rank 2, should have batch, channels and 1 to 3 spatial axes");
}

TEST(Window, RefusesExtentsThatOverflow) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(refusal({{"kernel_shape", Ints{huge}}, {"dilations", Ints{huge}}}),
            "the kernel is too large");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{1 << 21}},
                     {"dilations", Ints{huge}},
                     {"auto_pad", std::string("SAME_UPPER")}}),
            "the kernel is too large");
}

TEST(Window, RefusesAKernelShapeThatIsNotThatOfTheWeights) {
  const Node node = node_with({{"kernel_shape", Ints{5}}});
  EXPECT_FALSE(require_window(node, {1, 2, 9}, {4, 2, 3}).ok());
  EXPECT_TRUE(require_window(node, {1, 2, 9}, {4, 2, 5}).ok());
  EXPECT_FALSE(require_window(node, {1, 2, 9}, {4, 2, 5, 1}).ok());
}

}  // namespace
}  // namespace shoal::ops

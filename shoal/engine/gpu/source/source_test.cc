#include "shoal/engine/gpu/source/source.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace shoal::gpu {
namespace {

using Rng = std::mt19937;

TEST(TextOfFloat, KeepsTheValue) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(rng()));
    if (!std::isfinite(x)) continue;
    const std::string text = text_of(x);
    ASSERT_EQ(text.front(), '(');
    ASSERT_EQ(text.substr(text.size() - 2), "f)");
    ASSERT_EQ(std::strtof(text.c_str() + 1, nullptr), x) << text;
  }
  EXPECT_EQ(text_of(std::numeric_limits<float>::infinity()), "INFINITY");
  EXPECT_EQ(text_of(-std::numeric_limits<float>::infinity()), "(-INFINITY)");
  EXPECT_EQ(text_of(std::numeric_limits<float>::quiet_NaN()), "NAN");
}

TEST(Filled, ReplacesNames) {
  EXPECT_EQ(filled("$a + $ab_1;$a", {{"a", "x"}, {"ab_1", "2"}}), "x + 2;x");
  EXPECT_EQ(filled("none", {}), "none");
}

TEST(OffsetText, JoinsAxesThatAreWalkedAsOne) {
  EXPECT_EQ(offset_text({2, 3, 4}, {12, 4, 1}, "i"), "((i))");
  EXPECT_EQ(offset_text({2, 3}, {0, 0}, "i"), "0");
  EXPECT_EQ(offset_text({1, 1}, {7, 9}, "i", 5), "(5)");
  EXPECT_EQ(offset_text({2, 3}, {1, 2}, "i"), "((i % 3) * (2) + (i / 3))");
}

// The value of a text of +, *, /, % and parentheses, from the left, as C has it.
class Calculator {
 public:
  Calculator(std::string_view text, int64_t i) : text_(text), i_(i) {}
  int64_t value() {
    int64_t sum = product();
    while (take('+')) sum += product();
    return sum;
  }

 private:
  int64_t product() {
    int64_t result = atom();
    for (;;) {
      if (take('*')) {
        result *= atom();
      } else if (take('/')) {
        result /= atom();
      } else if (take('%')) {
        result %= atom();
      } else {
        return result;
      }
    }
  }
  int64_t atom() {
    if (take('(')) {
      const int64_t inner = value();
      EXPECT_TRUE(take(')'));
      return inner;
    }
    if (take('i')) return i_;
    const bool is_negative = take('-');
    int64_t number = 0;
    while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_[0])) != 0) {
      number = 10 * number + (text_[0] - '0');
      text_.remove_prefix(1);
    }
    return is_negative ? -number : number;
  }
  bool take(char c) {
    while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string_view text_;
  const int64_t i_;
};

TEST(OffsetText, WalksAsLoopsDo) {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    Shape shape;
    ops::Strides strides;
    for (size_t rank = rng() % 5; rank > 0; --rank) {
      shape.push_back(1 + static_cast<int64_t>(rng() % 4));
      strides.push_back(static_cast<int64_t>(rng() % 7) - 2);
    }
    // Half of the time, axes that can be joined.
    if (round % 2 == 0) strides = ops::strides_of(shape);
    const auto first = static_cast<int64_t>(rng() % 3);
    const std::string text = offset_text(shape, strides, "i", first);
    int64_t i = 0;
    ops::for_each_run(shape, std::array{strides}, [&](auto at, auto step, int64_t n) {
      for (int64_t k = 0; k < n; ++k, ++i) {
        ASSERT_EQ(Calculator(text, i).value(), first + at[0] + k * step[0])
            << to_string(shape) << to_string(strides) << text;
      }
    });
  }
}

TEST(OpenclProgram, HasItsKernelsAndWhatTheyCall) {
  const Launch one =
      for_each_element(100, {{Argument::Kind::kOutput, 0, "y"}},
                       "STORE(y, i, f_Relu(1.0f, 0.0f, 0.0f));\n", {.max_group_items = 64});
  Launch other = one;
  other.items[0] = 32;
  const std::string source = opencl_program(std::vector{opencl_text(one), opencl_text(other)});
  EXPECT_NE(source.find("reqd_work_group_size(64, 1, 1))) void k0("), source.npos) << source;
  EXPECT_NE(source.find("reqd_work_group_size(32, 1, 1))) void k1("), source.npos) << source;
  EXPECT_NE(source.find("float f_Relu(float x"), source.npos);
  EXPECT_EQ(source.find("f_Tanh"), source.npos);
}

TEST(ForEachElement, CoversAllWithGroupsThatTheDeviceAllows) {
  for (const int64_t count : {1, 63, 64, 65, 1000}) {
    for (const int64_t most : {1, 8, 256}) {
      const Launch launch = for_each_element(count, {}, "", {.max_group_items = most});
      EXPECT_LE(launch.items[0], most);
      EXPECT_GE(launch.groups[0] * launch.items[0], count);
      EXPECT_LT((launch.groups[0] - 1) * launch.items[0], count);
    }
  }
}

}  // namespace
}  // namespace shoal::gpu

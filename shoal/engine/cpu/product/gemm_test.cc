#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

struct Sizes {
  int64_t m, n, k;
};

void expect_gemm(Sizes size, bool ta, bool tb, const Tensor& c, const KernelNames& kernel) {
  std::mt19937 rng(1);
  const auto& [m, n, k] = size;
  expect_agreement(ops::gemm,
                   {random_floats(rng, ta ? Shape{k, m} : Shape{m, k}),
                    random_floats(rng, tb ? Shape{n, k} : Shape{k, n}), c},
                   {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}, {"alpha", 0.75f}}, kernel);
}

// Past the edges of tiles, of blocks of columns and of passes over k.
TEST(Gemm, AgreesOnManyRows) {
  std::mt19937 rng(2);
  for (const Sizes size : {Sizes{13, 49, 5}, {24, 48, 256}, {97, 131, 257}, {250, 245, 513}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        if (size.m == 250 && ta == tb) continue;  // takes sanitizers ten seconds
        expect_gemm(size, ta, tb, random_floats(rng, {size.n}), "gemm");
      }
    }
  }
}

TEST(Gemm, AgreesOnTilesOfAnyHeight) {
  std::mt19937 rng(3);
  for (int64_t m = 2; m <= 17; ++m) {
    for (const int64_t n : {2, 37, 100}) {
      expect_gemm({m, n, 259}, false, true, random_floats(rng, {m, n}), "gemm");
    }
  }
}

TEST(Gemm, AgreesOnOneRow) {
  std::mt19937 rng(3);
  for (const Sizes size : {Sizes{1, 1, 3}, {1, 37, 1025}, {1, 301, 2051}, {1, 1301, 251}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        expect_gemm(size, ta, tb, random_floats(rng, {size.n}), "gemv");
      }
    }
  }
}

TEST(Gemm, AgreesOnOneColumn) {
  std::mt19937 rng(3);
  for (const Sizes size : {Sizes{3, 1, 5}, {37, 1, 1025}, {301, 1, 70}}) {
    for (const bool tb : {false, true}) {
      expect_gemm(size, false, tb, random_floats(rng, {1}), "gemv");
      expect_gemm(size, false, tb, random_floats(rng, {size.m, 1}), "gemv");
      expect_gemm(size, true, tb, random_floats(rng, {size.m, 1}), "gemm");
    }
  }
}

TEST(Gemm, StretchesWhatIsAdded) {
  std::mt19937 rng(4);
  for (const int64_t m : {1, 3, 20, 30}) {
    for (const Shape& c : {Shape{}, {1}, {1, 1}, {30}, {1, 30}, {m, 1}, {m, 30}}) {
      expect_gemm({m, 30, 7}, false, true, random_floats(rng, c), {});
      expect_agreement(
          ops::gemm,
          {random_floats(rng, {m, 7}), random_floats(rng, {7, 30}), random_floats(rng, c)},
          {{"beta", -0.5f}}, {});
    }
  }
}

TEST(Gemm, GivesTheBiasWhereThereIsNothingToSum) {
  std::mt19937 rng(5);
  for (const int64_t m : {1, 3, 20}) {
    expect_gemm({m, 30, 0}, false, true, random_floats(rng, {30}), {});
    expect_gemm({m, 30, 0}, false, false, random_floats(rng, {30}), {});
  }
}

}  // namespace
}  // namespace shoal::cpu

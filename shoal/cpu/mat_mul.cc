// MatMul and FusedMatMul: stacks of matrices through the packed product. A single right factor, as
// weights are, meets all rows of the left stack at once.
#include <algorithm>

#include "shoal/cpu/dots.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product.h"
#include "shoal/ops/fused_activation.h"
#include "shoal/ops/matmul.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

// One product of the stack: offsets in matrices.
struct Pair {
  int64_t a, b, y;
};

struct Stack {
  int64_t m = 0, n = 0, k = 0;
  std::vector<Pair> pairs;
};

Stack stack_of(const Site& site) {
  const ops::MatMulSizes sizes = ops::matmul_sizes(site.shape(0), site.shape(1));
  const Shape& b = sizes.b_shape;
  if (b.count(0, b.rank() - 2) == 1) {
    const int64_t rows = sizes.a_shape.count(0, sizes.a_shape.rank() - 1);
    return {rows, sizes.n, sizes.k, {{0, 0, 0}}};
  }
  Stack stack{sizes.m, sizes.n, sizes.k, {}};
  sizes.for_each_matrix([&](int64_t a, int64_t to_b, int64_t y) {
    stack.pairs.push_back({a, to_b, y});
  });
  return stack;
}

class ProductKernel : public Kernel {
 public:
  ProductKernel(const Site& site, Stack stack)
      : stack_(std::move(stack)),
        threads_(site.pool.threads()),
        blocking_(choose_blocking(stack_.m, stack_.n, stack_.k, false, std::ssize(stack_.pairs),
                                  threads_)),
        activation_(site.node.op == &ops::fused_mat_mul ? ops::activation_of(site.node)
                                                        : ops::Activation()) {}

  void run(const Call& call) const override {
    const int64_t m = stack_.m, n = stack_.n, k = stack_.k;
    const std::vector<Pair>& pairs = stack_.pairs;
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    const int64_t blocks = blocking_.blocks();
    call.pool.parallel_for(std::ssize(pairs) * blocks, [&](int64_t index, int slot) {
      const Pair& pair = pairs[static_cast<size_t>(index / blocks)];
      const RightMatrix right({call.input(1) + pair.b * k * n, n, 1});
      Product product;
      product.m = m;
      product.n = product.y_stride = n;
      product.k = k;
      product.left = {call.input(0) + pair.a * m * k, k, 1};
      product.right = &right;
      product.y = call.output(0) + pair.y * m * n;
      product.column_bias = call.input(2);
      product.addend = call.has(3) ? call.input(3) + pair.y * m * n : nullptr;
      product.activation = activation_;
      multiply(product, blocking_, index % blocks, scratch + slot * blocking_.scratch_floats);
    });
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(blocking_.scratch_floats * threads_) * sizeof(float);
  }

 private:
  const Stack stack_;
  const int threads_;
  const Blocking blocking_;
  const Activation activation_;
};

// One row on the left, or one column on the right: every element of the matrix is used once.
class VectorKernel : public Kernel {
 public:
  explicit VectorKernel(Stack stack) : stack_(std::move(stack)) {}

  void run(const Call& call) const override {
    const int64_t m = stack_.m, n = stack_.n, k = stack_.k;
    const std::vector<Pair>& pairs = stack_.pairs;
    const int64_t grain = std::max<int64_t>((int64_t{1} << 15) / std::max<int64_t>(k, 1), 16);
    for (const Pair& pair : pairs) {
      const float* a = call.input(0) + pair.a * m * k;
      const float* b = call.input(1) + pair.b * k * n;
      float* y = call.output(0) + pair.y * m * n;
      call.pool.parallel_ranges(m * n, grain, [&](int64_t begin, int64_t end) {
        if (n == 1) {
          dot_rows({b, k, 1, k, a, y, m}, begin, end);
        } else {
          add_rows(a, k, b, n, begin, end, y);
        }
      });
    }
  }

 private:
  const Stack stack_;
};

std::unique_ptr<Kernel> make_vector(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  Stack stack = stack_of(site);
  if (stack.m != 1 && stack.n != 1) return nullptr;
  return std::make_unique<VectorKernel>(std::move(stack));
}

std::unique_ptr<Kernel> make_product(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ProductKernel>(site, stack_of(site));
}

}  // namespace

std::vector<Provider> mat_mul_kernels() {
  return {{&ops::mat_mul, "gemv", make_vector},
          {&ops::mat_mul, "gemm", make_product},
          {&ops::fused_mat_mul, "gemm", make_product}};
}

}  // namespace shoal::cpu

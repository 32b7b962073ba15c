// Element-wise operators of quantised tensors with one scale for all elements: QuantizeLinear,
// DequantizeLinear, QLinearAdd and Lookup, the table of 256 bytes that any function of one byte
// becomes.
#include <algorithm>
#include <array>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr int64_t kElements = 16384;  // worth waking a thread for

bool is_byte(DType dtype) { return ops::Bytes::contains(dtype); }

int32_t zero_point_or_none(const Tensor* zero_point) {
  return zero_point == nullptr ? 0 : ops::zero_point_of(*zero_point);
}

// Scale of an input that is followed by its constant parameters.
ByteScale scale_of(const KernelSpec& spec, size_t input, float scale) {
  const uint8_t flip = flip_of(spec.inputs[input].type.dtype);
  return {scale, zero_point_or_none(spec.constant(input + 2)) + flip, flip};
}

// True if the scale, input `i`, is a constant of one element, and so is the zero point behind it,
// if any.
bool has_constant_scale(const KernelSpec& spec, size_t i) {
  const bool has_zero_point = spec.given(i + 1);
  return spec.constant(i) != nullptr && spec.shape(i).count() == 1 &&
         spec.inputs[i].type.dtype == DType::kF32 &&
         (!has_zero_point || spec.constant(i + 1) != nullptr);
}

class QuantizeKernel : public Kernel {
 public:
  explicit QuantizeKernel(const KernelSpec& spec)
      : scale_(ops::scale_of(*spec.constant(1))),
        rounding_(ops::bounds_of_type(spec.outputs[0].dtype), zero_point_or_none(spec.constant(2)),
                  spec.outputs[0].dtype) {}

  void run(const KernelArgs& args) const override {
    uint8_t* y = bytes_of(args.outputs[0]);
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      quantize_bytes(args.input(0) + begin, scale_, rounding_, y + begin, end - begin);
    });
  }

 private:
  const float scale_;
  const Rounding rounding_;
};

class DequantizeKernel : public Kernel {
 public:
  explicit DequantizeKernel(const KernelSpec& spec)
      : how_(scale_of(spec, 0, ops::scale_of(*spec.constant(1)))) {}

  void run(const KernelArgs& args) const override {
    const uint8_t* x = bytes_of(args.inputs[0]);
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      dequantize_bytes(x + begin, how_, args.output(0) + begin, end - begin);
    });
  }

 private:
  const ByteScale how_;
};

class QuantizedAddKernel : public Kernel {
 public:
  explicit QuantizedAddKernel(const KernelSpec& spec)
      : a_(scale_of(spec, 0, ratio(spec, 1))),
        b_(scale_of(spec, 3, ratio(spec, 4))),
        rounding_(ops::bounds_of(spec.node, spec.outputs[0].dtype),
                  zero_point_or_none(spec.constant(7)), spec.outputs[0].dtype) {}

  void run(const KernelArgs& args) const override {
    const uint8_t *a = bytes_of(args.inputs[0]), *b = bytes_of(args.inputs[3]);
    uint8_t* y = bytes_of(args.outputs[0]);
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      add_bytes(a + begin, a_, b + begin, b_, rounding_, y + begin, end - begin);
    });
  }

 private:
  static float ratio(const KernelSpec& spec, size_t scale) {
    return ops::scale_of(*spec.constant(scale)) / ops::scale_of(*spec.constant(6));
  }

  const ByteScale a_, b_;
  const Rounding rounding_;
};

class LookupKernel : public Kernel {
 public:
  void run(const KernelArgs& args) const override {
    const uint8_t *x = bytes_of(args.inputs[0]), *table = bytes_of(args.inputs[1]);
    uint8_t* y = bytes_of(args.outputs[0]);
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      lookup_bytes(x + begin, table, y + begin, end - begin);
    });
  }
};

std::unique_ptr<Kernel> make_quantize(const KernelSpec& spec) {
  const bool fits = spec.inputs[0].type.dtype == DType::kF32 && is_byte(spec.outputs[0].dtype) &&
                    has_constant_scale(spec, 1);
  return fits ? std::make_unique<QuantizeKernel>(spec) : nullptr;
}

std::unique_ptr<Kernel> make_dequantize(const KernelSpec& spec) {
  const bool fits = is_byte(spec.inputs[0].type.dtype) && spec.outputs[0].dtype == DType::kF32 &&
                    has_constant_scale(spec, 1);
  return fits ? std::make_unique<DequantizeKernel>(spec) : nullptr;
}

std::unique_ptr<Kernel> make_add(const KernelSpec& spec) {
  for (const size_t scale : {size_t{1}, size_t{4}, size_t{6}}) {
    if (!has_constant_scale(spec, scale)) return nullptr;
  }
  if (spec.shape(0) != spec.shape(3)) return nullptr;
  return std::make_unique<QuantizedAddKernel>(spec);
}

std::unique_ptr<Kernel> make_lookup(const KernelSpec&) { return std::make_unique<LookupKernel>(); }

}  // namespace

std::vector<Provider> quantize_linear_kernels() {
  return {{&ops::dequantize_linear, "vector", make_dequantize},
          {&ops::lookup, "table", make_lookup},
          {&ops::q_linear_add, "vector", make_add},
          {&ops::quantize_linear, "vector", make_quantize}};
}

}  // namespace shoal::cpu

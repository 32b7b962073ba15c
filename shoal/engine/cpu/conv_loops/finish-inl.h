// Finish (conv_loops.h) over vectors. Included once per instruction set, between the lines that
// open and close its namespace.
#if defined(SHOAL_CPU_FINISH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_FINISH_INL_H
#undef SHOAL_CPU_FINISH_INL_H
#else
#define SHOAL_CPU_FINISH_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/elementwise/clamp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// A Finish for the channels of one block, in registers.
class Finisher {
 public:
  using Tag = hwy::HWY_NAMESPACE::ScalableTag<float>;
  using Vector = hwy::HWY_NAMESPACE::Vec<Tag>;

  HWY_INLINE Finisher(const Finish& finish, int64_t block)
      : leaks_(finish.slope != nullptr),
        slope_(load(finish.slope, block, 1)),
        low_(load(finish.low, block, -std::numeric_limits<float>::infinity())),
        high_(load(finish.high, block, std::numeric_limits<float>::infinity())) {}

  HWY_INLINE Vector operator()(Vector x) const {
    if (leaks_) x = at_least(hwy::HWY_NAMESPACE::Mul(slope_, x), x);
    return at_most(high_, at_least(low_, x));
  }

 private:
  static HWY_INLINE Vector load(const float* list, int64_t block, float otherwise) {
    const Tag d;
    return list == nullptr ? hwy::HWY_NAMESPACE::Set(d, otherwise)
                           : hwy::HWY_NAMESPACE::LoadU(d, list + block * kBlock);
  }

  static constexpr int64_t kBlock = HWY_LANES(float);

  const bool leaks_;
  const Vector slope_, low_, high_;
};

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target

// The size of panels and tiles. Included once per instruction set, between the lines that open and
// close its namespace.
#if defined(SHOAL_CPU_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_PANELS_INL_H
#undef SHOAL_CPU_PANELS_INL_H
#else
#define SHOAL_CPU_PANELS_INL_H
#endif

#include <hwy/highway.h>

#include "shoal/cpu/product/product.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// kRows * kVectors sums, kVectors columns and one element of the left factor are in registers at
// once: 28 of 32, or 16 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;
constexpr int kLanes = HWY_LANES(float);
constexpr int kColumns = kVectors * kLanes;
static_assert(kColumns <= kMaxPanelColumns && kLanes <= kPanelSlack);

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target

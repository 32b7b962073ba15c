// A pixel of a source is one load and one permutation of its lanes.
#include "shoal/engine/cpu/layout/select_channels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/layout/select_lanes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;

constexpr int64_t kLanes = HWY_LANES(float);

using Places = std::array<const float*, kMostLaneSources>;

template <size_t kSources>
HWY_INLINE void select_from(const LaneSource* sources, const Places& x, bool adds, int64_t pixels,
                            float* y) {
  const D d;
  decltype(hn::SetTableIndices(d, sources->lanes.data())) lanes[kSources];
  hn::Vec<D> taken[kSources];
  for (size_t i = 0; i < kSources; ++i) {
    lanes[i] = hn::SetTableIndices(d, sources[i].lanes.data());
    taken[i] = hn::BitCast(d, hn::LoadU(DI(), sources[i].taken.data()));
  }
  for (int64_t p = 0; p < pixels * kLanes; p += kLanes) {
    auto pixel = adds ? hn::LoadU(d, y + p) : hn::Zero(d);
    for (size_t i = 0; i < kSources; ++i) {
      const auto moved = hn::TableLookupLanes(hn::LoadU(d, x[i] + p), lanes[i]);
      pixel = hn::Or(pixel, hn::And(taken[i], moved));
    }
    hn::StoreU(pixel, d, y + p);
  }
}

void select_lanes_here(std::span<const LaneSource> sources, const Places& x, bool adds,
                       int64_t pixels, float* y) {
  switch (sources.size()) {
    case 1:
      return select_from<1>(sources.data(), x, adds, pixels, y);
    case 2:
      return select_from<2>(sources.data(), x, adds, pixels, y);
    case 3:
      return select_from<3>(sources.data(), x, adds, pixels, y);
    default:
      return select_from<4>(sources.data(), x, adds, pixels, y);
  }
}

int64_t select_block_here() { return kLanes; }

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(select_lanes_here);
HWY_EXPORT(select_block_here);

int64_t select_block() { return HWY_DYNAMIC_DISPATCH(select_block_here)(); }

void select_lanes(std::span<const LaneSource> sources,
                  const std::array<const float*, kMostLaneSources>& x, bool adds, int64_t pixels,
                  float* y) {
  HWY_DYNAMIC_DISPATCH(select_lanes_here)(sources, x, adds, pixels, y);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE

// Shared by the kernels that call oneDNN. They exist if the build asks for them (SHOAL_ONEDNN) and
// compete with our own.
//
// oneDNN as distributions package it brings OpenMP, whose threads spin beside ours: two pools on
// the same cores are several times slower than one. These kernels are therefore for devices of one
// thread, and run in it.
#pragma once

#include <omp.h>

#include <dnnl.hpp>
#include <limits>
#include <optional>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_weights.h"

namespace shoal::cpu {

// Limits OpenMP to the calling thread during its lifetime.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneOpenMpThread() { omp_set_num_threads(before_); }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  const int before_;
};

inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// oneDNN has no type for constant memory; inputs are not written.
inline dnnl::memory onednn_memory(const dnnl::memory::desc& desc, const void* data) {
  return {desc, onednn_engine(), const_cast<void*>(data)};
}

// Appends clamping to `ops`. Activations of other kinds are left to our own loop.
inline void append_clamp(dnnl::post_ops& ops, const Epilogue& activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation.low == -kInfinity && activation.high == kInfinity) return;
  if (activation.low == 0 && activation.high == kInfinity) {
    ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  } else {
    ops.append_eltwise(1, dnnl::algorithm::eltwise_clip, activation.low, activation.high);
  }
}

// The constant `from` in the layout that a primitive asks for.
inline AlignedFloats reordered(const dnnl::memory::desc& from, const float* data,
                               const dnnl::memory::desc& to) {
  AlignedFloats packed(static_cast<int64_t>(to.get_size() / sizeof(float) + 1));
  dnnl::memory source = onednn_memory(from, data), target = onednn_memory(to, packed.data());
  dnnl::stream stream(onednn_engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return packed;
}

// Result of `describe`, or nullopt if oneDNN has no implementation, which it reports by an
// exception.
template <class F>
auto if_possible(const F& describe) -> std::optional<decltype(describe())> {
  const OneOpenMpThread one;
  try {
    return describe();
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

}  // namespace shoal::cpu

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/index/index.h"

namespace shoal::ops {
namespace {

template <class T>
using Wrapping = Modular<Compute<T>>;

struct Replace {
  template <class T>
  T operator()(T, T update) const {
    return update;
  }
};
struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Times {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return larger<Compute<T>>(a, b);
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return smaller<Compute<T>>(a, b);
  }
};

template <class F, class T>
void combine(std::byte* elements, const std::byte* updates, int64_t n) {
  T* x = reinterpret_cast<T*>(elements);
  const T* u = reinterpret_cast<const T*>(updates);
  for (int64_t k = 0; k < n; ++k) x[k] = F()(x[k], u[k]);
}

// One function per type, chosen before the loop over the updates.
template <class F>
Combine for_type(DType dtype) {
  Combine result = nullptr;
  visit<AllTypes>(dtype, [&]<class T>() { result = combine<F, T>; });
  return result;
}

}  // namespace

Result<Combine> combine_of(const Node& node, DType dtype) {
  const std::string reduction = node.text("reduction", "none");
  if (reduction == "none") return for_type<Replace>(dtype);
  if (reduction == "add") return for_type<Plus>(dtype);
  if (reduction == "mul") return for_type<Times>(dtype);
  if (reduction == "max") return for_type<Larger>(dtype);
  if (reduction == "min") return for_type<Smaller>(dtype);
  return invalid("unknown reduction " + reduction);
}

}  // namespace shoal::ops

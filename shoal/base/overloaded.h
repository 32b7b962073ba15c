// One function object of several, for std::visit.
#pragma once

namespace shoal {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang 14 does not deduce it by itself

}  // namespace shoal

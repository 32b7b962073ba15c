// Comparisons, logic and bitwise logic on two inputs that broadcast. Comparisons with NaN are
// false. None has a gradient.
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {

SHOAL_RECORD(and_) = binary<Types<bool>>("And", [](bool a, bool b) { return a && b; });
SHOAL_RECORD(or_) = binary<Types<bool>>("Or", [](bool a, bool b) { return a || b; });
SHOAL_RECORD(xor_) = binary<Types<bool>>("Xor", [](bool a, bool b) { return a != b; });

SHOAL_RECORD(equal) = binary<AllTypes>("Equal", [](auto a, auto b) { return a == b; });
SHOAL_RECORD(greater) = binary<Numbers>("Greater", [](auto a, auto b) { return a > b; });
SHOAL_RECORD(greater_or_equal) = binary<Numbers>("GreaterOrEqual",
                                                 [](auto a, auto b) { return a >= b; });
SHOAL_RECORD(less) = binary<Numbers>("Less", [](auto a, auto b) { return a < b; });
SHOAL_RECORD(less_or_equal) = binary<Numbers>("LessOrEqual", [](auto a, auto b) { return a <= b; });

SHOAL_RECORD(bitwise_and) = binary<Ints>("BitwiseAnd",
                                         []<class T>(T a, T b) { return static_cast<T>(a & b); });
SHOAL_RECORD(bitwise_or) = binary<Ints>("BitwiseOr",
                                        []<class T>(T a, T b) { return static_cast<T>(a | b); });
SHOAL_RECORD(bitwise_xor) = binary<Ints>("BitwiseXor",
                                         []<class T>(T a, T b) { return static_cast<T>(a ^ b); });

}  // namespace shoal::ops

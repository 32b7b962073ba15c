// Comparisons, logic and bit logic on two inputs that broadcast.
#include "shoal/ops/elementwise.h"
#include "shoal/ops/ops.h"

namespace shoal::ops {

const Operator and_ = binary<Types<bool>>("And", [](bool a, bool b) { return a && b; });
const Operator or_ = binary<Types<bool>>("Or", [](bool a, bool b) { return a || b; });
const Operator xor_ = binary<Types<bool>>("Xor", [](bool a, bool b) { return a != b; });

const Operator equal = binary<AllTypes>("Equal", [](auto a, auto b) { return a == b; });
const Operator greater = binary<Numbers>("Greater", [](auto a, auto b) { return a > b; });
const Operator greater_or_equal =
    binary<Numbers>("GreaterOrEqual", [](auto a, auto b) { return a >= b; });
const Operator less = binary<Numbers>("Less", [](auto a, auto b) { return a < b; });
const Operator less_or_equal =
    binary<Numbers>("LessOrEqual", [](auto a, auto b) { return a <= b; });

const Operator bitwise_and =
    binary<Ints>("BitwiseAnd", []<class T>(T a, T b) { return static_cast<T>(a & b); });
const Operator bitwise_or =
    binary<Ints>("BitwiseOr", []<class T>(T a, T b) { return static_cast<T>(a | b); });
const Operator bitwise_xor =
    binary<Ints>("BitwiseXor", []<class T>(T a, T b) { return static_cast<T>(a ^ b); });

}  // namespace shoal::ops

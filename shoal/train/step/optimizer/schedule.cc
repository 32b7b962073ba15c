// Learning-rate factors of step s, with t = s - warm_up and T = total - warm_up:
//
//   warm-up   (s + 1) / warm_up             for s < warm_up
//   constant  1
//   step      drop ^ floor(t / every)
//   cosine    (1 + cos(pi * t / T)) / 2     zero from T on (Loshchilov and Hutter 2017)
#include "shoal/train/step/optimizer/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace shoal::train {
namespace {

using Kind = Schedule::Kind;

constexpr std::array kKinds = {std::pair{Kind::kConstant, std::string_view("constant")},
                               std::pair{Kind::kStep, std::string_view("step")},
                               std::pair{Kind::kCosine, std::string_view("cosine")}};

}  // namespace

std::string_view name_of(Kind kind) {
  return std::ranges::find(kKinds, kind, &decltype(kKinds)::value_type::first)->second;
}

std::optional<Kind> find_schedule(std::string_view name) {
  const auto position = std::ranges::find(kKinds, name, &decltype(kKinds)::value_type::second);
  return position == kKinds.end() ? std::nullopt : std::optional(position->first);
}

double factor_at(const Schedule& schedule, int64_t step) {
  if (step < schedule.warm_up) {
    return static_cast<double>(step + 1) / static_cast<double>(schedule.warm_up);
  }
  const int64_t since = step - schedule.warm_up;
  switch (schedule.kind) {
    case Schedule::Kind::kConstant:
      return 1;
    case Schedule::Kind::kStep:
      return std::pow(schedule.drop, static_cast<double>(since / schedule.every));
    case Schedule::Kind::kCosine: {
      const auto span =
          // A warm-up as long as the training leaves no span to divide by.
          static_cast<double>(std::max<int64_t>(schedule.total - schedule.warm_up, 1));
      const double done = std::min(static_cast<double>(since) / span, 1.0);
      return (1 + std::cos(std::numbers::pi * done)) / 2;
    }
  }
  return 1;
}

}  // namespace shoal::train

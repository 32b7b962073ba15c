// Learning rate schedules: the rate as a function of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)

namespace shoal::train {

// Which function that is.
struct Schedule {
  // How the rate falls after the warm-up.
  enum class Kind { kConstant, kStep, kCosine };
  Kind kind = Kind::kConstant;  // which of them
  int64_t warm_up = 0;          // steps of linear growth; the last has the full rate
  int64_t total = 0;            // steps in all: after them, the cosine's rate is zero
  int64_t every = 1;            // kStep: steps between two drops, after the warm-up
  double drop = 0.1;            // the factor
};

// "constant", "step" or "cosine", and the kind of a name; nullopt for any other.
std::string_view name_of(Schedule::Kind kind);
std::optional<Schedule::Kind> find_schedule(std::string_view name);

// The factor of the learning rate in a step. Steps count from 0. REQUIRES: schedule.every > 0 for
// kStep.
double factor_at(const Schedule& schedule, int64_t step);

}  // namespace shoal::train

#pragma GCC visibility pop

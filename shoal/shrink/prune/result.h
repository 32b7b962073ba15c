// ShrinkResult: the results of shrink(), the smaller network beside its controls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/shrink/compress/units/target.h"

#pragma GCC visibility push(default)

namespace shoal::shrink {

// What is left of a group of units.
struct GroupLeft {
  std::string weights = {};  // the first that it has slices of
  size_t axis = 0;           // of them
  size_t before = 0, left = 0;
};

// An axis of weights that cannot be shrunk, or not wholly.
struct RefusedAxis {
  std::string weights;
  size_t axis = 0;
  int64_t indices = 0;  // that must stay
  std::string reason;
};

// A network as evaluated: accuracy on the test examples in percent, and costs.
struct Figures {
  double top1 = 0;
  compress::Size size = {};  // for one example
  std::optional<double> ms;  // for one example: the fastest tenth of runs

  friend bool operator==(const Figures&, const Figures&) = default;
};

// The accuracy of a network when one group becomes smaller.
struct GroupSensitivity {
  std::string weights = {};       // as of GroupLeft, and so is the axis
  size_t axis = 0;                // of them
  size_t units = 0;               // that there are
  std::vector<double> top1 = {};  // without 10 %, 20 %, ... 90 % of them, as far as is possible
};

// For every group. Accuracy in percent, on held-out examples, before retraining.
struct Sensitivity {
  double top1 = 0;      // of the whole network
  size_t examples = 0;  // looked at
  double seconds = 0;   // that it took
  std::vector<GroupSensitivity> groups = {};
};

// What became of the result in 8 bits.
struct InEightBits {
  double top1_real = 0;                 // before
  std::vector<std::string> left = {};   // products that stay real, by their output
  std::vector<std::string> notes = {};  // for people
};

// A value.
struct ShrinkResult {
  Figures small;  // the result
  Figures dense;  // its control: nothing removed, same recipe, same passes
  // Networks that lost more than ShrinkOptions::max_drop, that of the target first. The result is
  // then one that lost less, or the dense control.
  std::vector<Figures> missed;
  double top1_before = 0;            // of the network as it was given
  double top1_removed = 0;           // of what was left of it, before it learned again
  double held_out_top1 = 0;          // of the result, on the examples that choose
  double held_out_top1_control = 0;  // of the dense control on them
  std::optional<double> top1_scratch, top1_random;  // with ShrinkOptions::controls
  // The predicted Figures::ms of result and dense control on ShrinkOptions::device, if a time or a
  // device was given.
  std::optional<double> ms_predicted, ms_predicted_before;
  int64_t epochs = 0;                      // each network learned for
  double seconds = 0;                      // in all, in this process
  double choosing_seconds = 0;             // of them, for deciding what goes
  std::vector<GroupLeft> removed;          // groups that lost units
  std::vector<RefusedAxis> refused;        // what could not lose any
  std::optional<Sensitivity> sensitivity;  // of the given network, if it was asked for
  std::optional<InEightBits> int8;         // with ShrinkOptions::int8

  // The networks on the Pareto front of time (multiply-accumulates if not measured) and accuracy,
  // the cheapest first.
  std::vector<Figures> front() const;
  // The controls of the same size that are better than the result: "scratch", "random".
  std::vector<std::string> lost_to() const;
  // Whether the recipe made the dense network worse by more than a point, as too high a rate does.
  // Then no figure says what the removal costs.
  bool recipe_does_harm() const;
  // Reservations about the figures, for people; empty if none.
  std::vector<std::string> warnings() const;
  // Says that the target cost more than `max_drop` points, and what was written instead; empty if
  // it did not.
  std::string missed_bound(double max_drop) const;
};

}  // namespace shoal::shrink

#pragma GCC visibility pop

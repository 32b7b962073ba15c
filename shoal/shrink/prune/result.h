// ShrinkResult: all that a run of shrink() found out, the smaller network beside its controls.
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

// A network as it was judged: accuracy on the test examples in percent, and costs.
struct Figures {
  double top1 = 0;
  compress::Size size = {};  // for one example
  std::optional<double> ms;  // for one example: the fastest tenth of runs

  friend bool operator==(const Figures&, const Figures&) = default;
};

// What is left of the accuracy of a network when one group of units becomes smaller.
struct GroupSensitivity {
  std::string weights = {};       // as of GroupLeft, and so is the axis
  size_t axis = 0;                // of them
  size_t units = 0;               // that there are
  std::vector<double> top1 = {};  // without 10 %, 20 %, ... 90 % of them, as far as is possible
};

// The same of every group. Accuracy in percent, on held-out examples, before anything learns again.
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

// See the head of this file. A value.
struct ShrinkResult {
  Figures small;  // the result
  Figures dense;  // its control: nothing removed, same recipe, same passes
  // Networks that lost more than ShrinkOptions::max_drop, that of the target first. The result is
  // then one that lost fewer units and not as much, or the dense control.
  std::vector<Figures> missed;
  double top1_before = 0;            // of the network as it was given
  double top1_removed = 0;           // of what was left of it, before it learned again
  double held_out_top1 = 0;          // of the result, on the examples that choose
  double held_out_top1_control = 0;  // of the dense control on them
  std::optional<double> top1_scratch, top1_random;  // with ShrinkOptions::controls
  // What Figures::ms of the result and of the dense control should be on ShrinkOptions::device;
  // only where the target was a time or a device was named.
  std::optional<double> ms_predicted, ms_predicted_before;
  int64_t epochs = 0;                      // each network learned for
  double seconds = 0;                      // in all, in this process
  double choosing_seconds = 0;             // of them, for deciding what goes
  std::vector<GroupLeft> removed;          // groups that lost units
  std::vector<RefusedAxis> refused;        // what could not lose any
  std::optional<Sensitivity> sensitivity;  // of the given network, if it was asked for
  std::optional<InEightBits> int8;         // with ShrinkOptions::int8

  // The networks that no other one of this run beats in both time (multiply-accumulates where it
  // was not measured) and accuracy, the cheapest first.
  std::vector<Figures> front() const;
  // The controls of the same size that are better than the result: "scratch", "random".
  std::vector<std::string> lost_to() const;
  // True if the recipe made the dense network worse by more than a point, as a rate that is too
  // high does. No figure of such a run says what the removal costs.
  bool recipe_does_harm() const;
  // Lines for people about what makes the figures worth less; none where nothing does.
  std::vector<std::string> warnings() const;
  // In words, that the target cost more than `max_drop` points, and what was written instead; empty
  // where it did not.
  std::string missed_bound(double max_drop) const;
};

}  // namespace shoal::shrink

#pragma GCC visibility pop

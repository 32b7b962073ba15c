// How far a run of shrink() is, for the commands that make one.
#pragma once

#include "cancel_on_signals.h"
#include "network_line.h"
#include "shoal/shrink/prune/shrink.h"

namespace shoal::cli {

// One progress line for each network, with the time that all of them take; signals end the run.
// `line` outlives the result.
inline shrink::ShrinkCallbacks shrink_callbacks(NetworkLine& line) {
  return {.on_step =
              [&line](const shrink::ShrinkStep& step) {
                line.show(step.network, step.step,
                          fixed(step.seconds_left, 0) + " s for all networks");
              },
          .on_note = [&line](const std::string& note) { line.note(note); },
          .cancel = cancel_on_signals()};
}

}  // namespace shoal::cli

// Shared by commands that train networks: a progress line, and the end of a run.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "../exit_codes.h"
#include "../facts.h"
#include "apps/commands/training/train.h"
#include "cancel_on_signals.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/shrink/prune/shrink.h"

namespace shoal::cli {

// The progress of the network that is training, on one line of the terminal, for commands that
// train several networks in sequence.
class NetworkLine {
 public:
  // `left` ends the line: "12 s left".
  void show(std::string_view network, const fit::StepReport& report, const std::string& left) {
    const auto epochs = static_cast<size_t>(report.epochs);
    if (!line_) line_.emplace(std::string(network), epochs * report.steps_per_epoch);
    line_->at(report.progress.epoch * report.steps_per_epoch + report.progress.step,
              text_of(report) + ", " + left);
  }

  void show(std::string_view network, const fit::StepReport& report) {
    show(network, report, fixed(report.seconds_left, 0) + " s left");
  }

  // Ends the line of this network: a note comes between networks.
  void note(const std::string& note) {
    line_.reset();
    std::fprintf(stderr, "%s\n", note.c_str());
  }

  // For a run whose steps name the network that learns. Signals end the run. This outlives it.
  template <class Callbacks>
  Callbacks callbacks() {
    Callbacks all;
    all.on_step = [this](const auto& step) { this->show(step.network, step.step); };
    all.on_note = [this](const std::string& line) { note(line); };
    all.cancel = cancel_on_signals();
    return all;
  }

 private:
  std::optional<ProgressBar> line_;
};

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

inline Outcome fail_to_learn(const Status& status) {
  if (status.code() != Code::kCancelled) return fail(Doing::kTrain, status);
  return {Exit::kInterrupted, "interrupted; nothing was written"};
}

// Prints the result, or the error.
template <class T>
Outcome print_result(const Result<T>& result, bool json) {
  if (!result.ok()) return fail_to_learn(result.status());
  print_found(json, *result);
  return {};
}

// The same, after page(result) was written to the file `report`, if there is one.
template <class T, class Page>
Outcome print_result(const Result<T>& result, bool json, const std::string& report, Page page) {
  if (result.ok() && !report.empty()) {
    const Status written = write_file(report, page(*result));
    if (!written.ok()) return fail(Doing::kTrain, written);
  }
  return print_result(result, json);
}

}  // namespace shoal::cli

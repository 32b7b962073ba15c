// NetworkLine: how far the network is that learns now, on one line of the terminal, for commands
// that let several networks learn one after the other.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "apps/commands/training/train.h"
#include "cancel_on_signals.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/base/terminal/table.h"

namespace shoal::cli {

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

}  // namespace shoal::cli

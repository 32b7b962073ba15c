#include "trial_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "../table.h"

namespace shoal::cli {

TrialView::TrialView(const TrialFlags& flags)
    : is_terminal_(isatty(STDERR_FILENO) != 0), says_lines_(flags.seconds > 0) {}

void TrialView::show(const TrialState& state) {
  constexpr std::chrono::milliseconds kInterval{100};
  if (!is_terminal_) {
    if (says_lines_) say_what_happened(state);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < last_ + kInterval) return;
  last_ = now;
  redraw(state);
}

namespace {

// A line that wraps would not be drawn over.
size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

// Over what it drew before.
void TrialView::redraw(const TrialState& state) {
  const TrialFigures& figures = state.figures;
  std::string text = lines_ > 0 ? "\033[" + std::to_string(lines_) + "A" : "";
  const size_t width = terminal_width();
  const auto add_line = [&](const std::string& line) {
    text += "\r\033[K" + line.substr(0, width) + "\n";
  };
  add_line(fixed(state.seconds, 1) + " s  " +
           (state.latest.empty() ? "calm so far" : "latest: " + state.latest));
  size_t longest = 0;
  for (const std::string& name : state.names) longest = std::max(longest, name.size());
  for (size_t w = 0; w < state.states.size(); ++w) {
    const bool is_victim = state.victim == static_cast<int>(w);
    add_line("  " + padded(state.names[w], longest) + (state.states[w] ? "  there" : "  lost ") +
             (is_victim ? " " + state.latest.substr(state.names[w].size()) : ""));
  }
  add_line(std::to_string(figures.answered) + " answered, " + std::to_string(figures.failed) +
           " failed, " + std::to_string(figures.wrong) + " wrong");
  const auto add_times = [&](const char* what, const Latencies& took) {
    add_line(std::string(what) + "p50 " + fixed(took.at(0.5), 1) + " ms, p99 " +
             fixed(took.at(0.99), 1) + " ms, longest " + fixed(took.longest(), 1) + " ms");
  };
  add_times("  calm         ", figures.calm);
  add_times("  with faults  ", figures.faulty);
  lines_ = static_cast<int>(state.states.size()) + 4;
  std::fputs(text.c_str(), stderr);
}

void TrialView::say_what_happened(const TrialState& state) {
  if (state.faults == faults_) return;
  faults_ = state.faults;
  std::fprintf(stderr, "%.1f s: %s; %llu answered, %llu failed, %llu wrong\n", state.seconds,
               state.latest.c_str(), static_cast<unsigned long long>(state.figures.answered),
               static_cast<unsigned long long>(state.figures.failed),
               static_cast<unsigned long long>(state.figures.wrong));
}

}  // namespace shoal::cli

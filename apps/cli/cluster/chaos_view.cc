// The view of a run of chaos. Both forms go to stderr: stdout is for the report.
#include "chaos_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "../table.h"

namespace shoal::cli {

ChaosView::ChaosView(bool says_lines)
    : is_terminal_(isatty(STDERR_FILENO) != 0), says_lines_(says_lines) {}

void ChaosView::show(const chaos::ChaosProgress& progress) {
  constexpr std::chrono::milliseconds kInterval{100};
  if (!is_terminal_) {
    if (says_lines_) say_what_happened(progress);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < last_ + kInterval) return;
  last_ = now;
  redraw(progress);
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
void ChaosView::redraw(const chaos::ChaosProgress& progress) {
  const chaos::ChaosReport& report = progress.report;
  std::string text = lines_ > 0 ? "\033[" + std::to_string(lines_) + "A" : "";
  const size_t width = terminal_width();
  const auto add_line = [&](const std::string& line) {
    text += "\r\033[K" + line.substr(0, width) + "\n";
  };
  add_line(fixed(progress.seconds, 1) + " s  " +
           (progress.latest.empty() ? "calm so far" : "latest: " + progress.latest));
  size_t longest = 0;
  for (const std::string& name : progress.names) longest = std::max(longest, name.size());
  for (size_t w = 0; w < progress.present.size(); ++w) {
    const bool is_victim = progress.victim == static_cast<int>(w);
    add_line("  " + padded(progress.names[w], longest) +
             (progress.present[w] ? "  there" : "  lost ") +
             (is_victim ? " " + progress.latest.substr(progress.names[w].size()) : ""));
  }
  add_line(std::to_string(report.answered) + " answered, " + std::to_string(report.failed) +
           " failed, " + std::to_string(report.wrong) + " wrong");
  const auto add_times = [&](const char* what, const LatencyRecorder& took) {
    add_line(std::string(what) + "p50 " + fixed(took.quantile(0.5), 1) + " ms, p99 " +
             fixed(took.quantile(0.99), 1) + " ms, longest " + fixed(took.max(), 1) + " ms");
  };
  add_times("  calm         ", report.calm);
  add_times("  with faults  ", report.faulty);
  lines_ = static_cast<int>(progress.present.size()) + 4;
  std::fputs(text.c_str(), stderr);
}

void ChaosView::say_what_happened(const chaos::ChaosProgress& progress) {
  if (progress.faults == faults_) return;
  faults_ = progress.faults;
  std::fprintf(stderr, "%.1f s: %s; %llu answered, %llu failed, %llu wrong\n", progress.seconds,
               progress.latest.c_str(), static_cast<unsigned long long>(progress.report.answered),
               static_cast<unsigned long long>(progress.report.failed),
               static_cast<unsigned long long>(progress.report.wrong));
}

}  // namespace shoal::cli

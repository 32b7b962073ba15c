// A progress line, redrawn in place at most ten times a second.
#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shoal::cli {

using Clock = std::chrono::steady_clock;

namespace {

size_t rows_of_terminal() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

}  // namespace

ProgressBar::ProgressBar(std::string what, size_t total)
    : what_(std::move(what)),
      total_(total),
      shown_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs(erasing().c_str(), stderr);
}

std::string ProgressBar::erasing() const {
  const std::string up = below_ > 0 ? "\033[" + std::to_string(below_) + "A" : "";
  return "\r" + up + "\033[J";
}

void ProgressBar::say(const std::string& line) {
  std::fprintf(stderr, "%s%s\n", shown_ ? erasing().c_str() : "", line.c_str());
  below_ = 0;
}

void ProgressBar::at(size_t done, const std::string& note, const std::vector<std::string>& below) {
  const auto now = Clock::now();
  if (!shown_ || now - last_ < std::chrono::milliseconds(100) || total_ == 0) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  // Lines that are too long are cut and not continued, or the next redraw would miss some.
  std::string text =
      erasing() + "\033[?7l" + what_ + " " + progress_text(done, total_, note, elapsed);
  const std::vector<std::string> shown = fitting(below, rows_of_terminal());
  for (const std::string& line : shown) text += "\n" + line;
  below_ = shown.size();
  std::fprintf(stderr, "%s\033[?7h", text.c_str());
}

std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows) {
  const size_t room = rows > 2 ? rows - 2 : 0;
  if (lines.size() <= room) return lines;
  const size_t left_out = lines.size() - room + 1;
  lines.resize(room);
  if (room > 0) lines.back() = "and " + std::to_string(left_out) + " more";
  return lines;
}

// A benchmark's last run may end late, so that more is done than was planned.
std::string progress_text(size_t done, size_t total, const std::string& note, double elapsed) {
  done = std::min(done, total);
  const double left =
      done == 0 ? 0 : elapsed / static_cast<double>(done) * static_cast<double>(total - done);
  constexpr size_t kBar = 24;
  const size_t filled = kBar * done / total;
  std::string text = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] " +
                     std::to_string(done) + "/" + std::to_string(total);
  if (!note.empty()) text += ", " + note;
  return text + ", " + std::to_string(std::llround(left)) + " s left";
}

}  // namespace shoal::cli

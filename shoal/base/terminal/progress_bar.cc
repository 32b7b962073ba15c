// A progress line, redrawn in place at most ten times a second.

#include "shoal/base/terminal/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shoal/base/timing/seconds_since.h"

namespace shoal {

namespace {

using Clock = std::chrono::steady_clock;

size_t rows_of_terminal() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

}  // namespace

ProgressBar::ProgressBar(std::string what, size_t total)
    : what_(std::move(what)), start_(std::chrono::steady_clock::now()), total_(total) {}

void ProgressBar::at(size_t done, const std::string& note, const std::vector<std::string>& below) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || total_ == 0 || !lines_.is_due()) return;
  std::vector<std::string> lines = {what_ + " " +
                                    progress_text(done, total_, note, seconds_since(start_))};
  lines.insert(lines.end(), below.begin(), below.end());
  lines_.draw(lines);
}

void ProgressBar::of(size_t done, size_t total, const std::string& note) {
  {
    const std::lock_guard lock(mutex_);
    if (total_ == 0) start_ = std::chrono::steady_clock::now();
    total_ = total;
  }
  at(done, note);
}

void ProgressBar::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  lines_.erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressBar::erase() {
  const std::lock_guard lock(mutex_);
  lines_.erase();
}

void ProgressBar::end() {
  const std::lock_guard lock(mutex_);
  lines_.erase();
  is_over_ = true;
}

// A benchmark's last run may end late, so that `done` exceeds the total.
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

LiveLines::LiveLines() : is_shown_(isatty(STDERR_FILENO) != 0), last_(Clock::now()) {}

bool LiveLines::is_due() const {
  return is_shown_ && Clock::now() - last_ >= std::chrono::milliseconds(100);
}

void LiveLines::draw(const std::vector<std::string>& lines) {
  if (!is_shown_) return;
  const std::vector<std::string> shown = fitting(lines, rows_of_terminal());
  std::fputs(redrawing(shown, drawn_).c_str(), stderr);
  drawn_ = shown.size();
  last_ = Clock::now();
}

void LiveLines::erase() {
  if (drawn_ > 0) draw({});
}

void LiveLines::keep() {
  if (drawn_ > 0) std::fputs("\n", stderr);
  drawn_ = 0;
}

std::string redrawing(const std::vector<std::string>& lines, size_t drawn) {
  std::string text = "\r";
  if (drawn > 1) text += "\033[" + std::to_string(drawn - 1) + "A";
  text += "\033[J";
  if (lines.empty()) return text;
  // Lines that are too long are cut and not continued, or the next redraw would miss some.
  text += "\033[?7l";
  for (size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\n" : "") + lines[i];
  return text + "\033[?7h";
}

std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows) {
  const size_t room = rows > 1 ? rows - 1 : 0;
  if (lines.size() <= room) return lines;
  const size_t left_out = lines.size() - room + 1;
  lines.resize(room);
  if (room > 0) lines.back() = "and " + std::to_string(left_out) + " more";
  return lines;
}

}  // namespace shoal

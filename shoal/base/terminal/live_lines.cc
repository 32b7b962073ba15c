#include "shoal/base/terminal/live_lines.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

size_t rows_of_terminal() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

}  // namespace

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

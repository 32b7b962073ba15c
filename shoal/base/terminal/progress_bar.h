// A progress line on stderr, and perhaps a table below it, on a terminal only; silent everywhere
// else.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace shoal {

// LiveLines: lines on stderr that are redrawn in place, on a terminal only.
class LiveLines {
 public:
  LiveLines();

  bool is_shown() const { return is_shown_; }
  // Whether the lines are shown and a tenth of a second old; redrawing more often only costs time.
  bool is_due() const;
  // Replaces the drawn lines. Lines that do not fit the screen are left out.
  void draw(const std::vector<std::string>& lines);
  void erase();
  // Keeps the drawn lines; later output goes below them.
  void keep();

 private:
  const bool is_shown_;
  size_t drawn_ = 0;  // lines
  std::chrono::steady_clock::time_point last_;
};

// The output that replaces the last `drawn` lines of a terminal, whose end the cursor is at, by
// `lines`.
std::string redrawing(const std::vector<std::string>& lines, size_t drawn);

// The first of these lines that fit a screen of `rows` rows, less one row to spare; the last one
// says how many are missing.
std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows);

// Thread-safe.
class ProgressBar {
 public:
  // 0: of() sets the total, and time counts from then on.
  explicit ProgressBar(std::string what, size_t total = 0);
  ~ProgressBar() { end(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Lines below that do not fit the screen are left out.
  void at(size_t done, const std::string& note = {}, const std::vector<std::string>& below = {});
  // The same, with a new total.
  void of(size_t done, size_t total, const std::string& note = {});
  // Prints a line above the bar, also if stderr is no terminal.
  void say(const std::string& line);
  void erase();  // the bar, until the next update
  void end();    // erases the bar for good

 private:
  const std::string what_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_;
  size_t total_;
  bool is_over_ = false;
  LiveLines lines_;
};

// What such a line says after its name, `elapsed` seconds after the start. REQUIRES: total > 0.
std::string progress_text(size_t done, size_t total, const std::string& note, double elapsed);

}  // namespace shoal

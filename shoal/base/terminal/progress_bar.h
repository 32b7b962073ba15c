// A progress line on stderr, and perhaps a table below it, on a terminal only; silent everywhere
// else.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace shoal {

// LiveLines: lines on stderr that are drawn over again and again, on a terminal only.
class LiveLines {
 public:
  LiveLines();

  bool is_shown() const { return is_shown_; }
  // Whether it is shown and a tenth of a second old: redrawing more often only costs time.
  bool is_due() const;
  // In place of what was drawn before. Lines that the screen has no room for are left out.
  void draw(const std::vector<std::string>& lines);
  void erase();
  // What is drawn stays, and anything else goes below it.
  void keep();

 private:
  const bool is_shown_;
  size_t drawn_ = 0;  // lines
  std::chrono::steady_clock::time_point last_;
};

// What a terminal has to be sent so that `lines` take the place of the last `drawn` ones, whose end
// the cursor is at.
std::string redrawing(const std::vector<std::string>& lines, size_t drawn);

// The first of these lines that fit a screen of `rows` rows, less one row to spare; the last one
// says how many are missing.
std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows);

// Thread-safe.
class ProgressBar {
 public:
  // 0: the total is told with what is done, and time counts from then on.
  explicit ProgressBar(std::string what, size_t total = 0);
  ~ProgressBar() { end(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Lines below that the screen has no room for are left out.
  void at(size_t done, const std::string& note = {}, const std::vector<std::string>& below = {});
  // The same, and the total is this from now on.
  void of(size_t done, size_t total, const std::string& note = {});
  // Something to be read, above what is shown. On any stderr.
  void say(const std::string& line);
  void erase();  // what is shown, until there is more
  void end();    // erases what is shown; nothing is from now on

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

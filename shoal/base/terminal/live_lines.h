// LiveLines: lines on stderr that are drawn over again and again, on a terminal only.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace shoal {

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

// As many of these lines as a screen with so many rows has room for, and one to spare; the last one
// says how many are missing.
std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows);

}  // namespace shoal

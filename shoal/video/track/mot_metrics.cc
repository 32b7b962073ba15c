#include "shoal/video/track/mot_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "shoal/video/track/assignment.h"

namespace shoal::track {
namespace {

constexpr double kContinued = 1000;  // more than any sum of overlaps: a pair that was there before
constexpr double kNever = 1e9;

double percent(double part, size_t whole) {
  return whole == 0 ? 0 : 100 * part / static_cast<double>(whole);
}

struct Line {
  size_t frame = 0;  // from 0
  int64_t id = 0;
  detect::Box box = {};
  double confidence = 1;
};

constexpr size_t kMostFrames = 100'000'000;

Result<Line> parse(const std::string& text) {
  std::array<double, 7> numbers = {0, 0, 0, 0, 0, 0, 1};
  std::istringstream words(text);
  size_t count = 0;
  for (std::string word; count < numbers.size() && std::getline(words, word, ','); ++count) {
    const size_t begin = std::min(word.find_first_not_of(" \t"), word.size());
    const auto [end, error] =
        std::from_chars(word.data() + begin, word.data() + word.size(), numbers[count]);
    if (error != std::errc() || !std::isfinite(numbers[count])) return invalid("no number");
  }
  const bool countable =
      numbers[0] >= 1 && numbers[0] <= double{kMostFrames} && std::abs(numbers[1]) < 1e15;
  if (count < 6 || !countable) return invalid("no frame, id and box");
  const auto at = [&](size_t i) { return static_cast<float>(numbers[i]); };
  return Line{.frame = static_cast<size_t>(numbers[0]) - 1,
              .id = static_cast<int64_t>(numbers[1]),
              .box = {at(2), at(3), at(2) + at(4), at(3) + at(5)},
              .confidence = numbers[6]};
}

}  // namespace

void MotMetrics::add(const std::vector<Identified>& truth, const std::vector<Identified>& shown) {
  ++frames_;
  truths_ += truth.size();
  shown_ += shown.size();
  Costs costs{.rows = truth.size(), .columns = shown.size()};
  for (const Identified& identified : truth) {
    const auto before = present_.find(identified.id);
    for (const Identified& other : shown) {
      const float shared = detect::overlap(identified.box, other.box);
      const bool fits = shared >= kLeastOverlap;
      if (fits) ++together_[{identified.id, other.id}];
      const bool continued = before != present_.end() && before->second == other.id;
      costs.values.push_back(fits ? -double{shared} - (continued ? kContinued : 0) : 0);
    }
  }
  std::map<int64_t, int64_t> present;
  const std::vector<size_t> column_of = assign(costs, kNever);
  for (size_t r = 0; r < truth.size(); ++r) {
    if (column_of[r] == kUnassigned) continue;
    const double cost = costs.at(r, column_of[r]);
    if (cost >= 0) continue;  // assigned because nothing else was left
    const int64_t id = truth[r].id, now = shown[column_of[r]].id;
    const auto last = last_.find(id);
    switches_ += last != last_.end() && last->second != now ? 1 : 0;
    last_[id] = now;
    present[id] = now;
    ++hits_;
    overlaps_ += cost < -1.5 ? -cost - kContinued : -cost;
  }
  present_ = std::move(present);
}

double MotMetrics::mota() const {
  const size_t wrong = misses() + false_alarms() + switches_;
  return percent(static_cast<double>(truths_) - static_cast<double>(wrong), truths_);
}

double MotMetrics::motp() const { return percent(overlaps_, hits_); }

double MotMetrics::idf1() const {
  std::map<int64_t, size_t> rows, columns;
  for (const auto& [pair, count] : together_) {
    rows.emplace(pair.first, rows.size());
    columns.emplace(pair.second, columns.size());
  }
  Costs costs{.rows = rows.size(),
              .columns = columns.size(),
              .values = std::vector<double>(rows.size() * columns.size(), 0)};
  for (const auto& [pair, count] : together_) {
    costs.values[rows[pair.first] * costs.columns + columns[pair.second]] =
        -static_cast<double>(count);
  }
  double together = 0;
  const std::vector<size_t> column_of = assign(costs, kNever);
  for (size_t r = 0; r < costs.rows; ++r) {
    if (column_of[r] != kUnassigned) together -= costs.at(r, column_of[r]);
  }
  return percent(2 * together, truths_ + shown_);
}

Result<Identities> read_identities(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return Status(Code::kNotFound, "there is no " + path.string());
  Identities all;
  std::set<std::pair<size_t, int64_t>> known;
  std::string text;
  for (size_t number = 1; std::getline(file, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto line = parse(text);
    const bool counts = line.ok() && line->confidence != 0;
    if (!line.ok() || (counts && !known.insert({line->frame, line->id}).second)) {
      return Status(Code::kCorrupt, path.string() + ", line " + std::to_string(number) +
                                        ": no frame, id and box, or an id twice in a frame");
    }
    if (counts) all[line->frame].push_back({line->id, line->box});
  }
  return all;
}

}  // namespace shoal::track

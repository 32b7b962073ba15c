#include "shoal/video/watch/places/place.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace shoal::watch {
namespace {

using detect::Point;

// On the + side of the line from a to b, or on it.
bool is_right(const Point& a, const Point& b, const Point& p) {
  const double along_x = double{b.x} - a.x, along_y = double{b.y} - a.y;
  return along_x * (double{p.y} - a.y) - along_y * (double{p.x} - a.x) >= 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

struct NamedPoints {
  std::string name;
  std::vector<Point> points = {};
};

Result<NamedPoints> parse(std::string_view text, std::string_view what) {
  const auto refused = [&] { return invalid(std::string(text) + " is no " + std::string(what)); };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return refused();
  std::vector<float> numbers;
  std::string_view rest = text.substr(equals + 1);
  for (bool more = true; more;) {
    float number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || !(number >= 0) || !std::isfinite(number)) return refused();
    numbers.push_back(number);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    more = !rest.empty();
    if (more && !rest.starts_with(',')) return refused();
    if (more) rest.remove_prefix(1);
  }
  if (numbers.size() % 2 != 0) return refused();
  NamedPoints named{std::string(text.substr(0, equals))};
  for (size_t i = 0; i < numbers.size(); i += 2) {
    named.points.push_back({numbers[i], numbers[i + 1]});
  }
  return named;
}

void to_pixels(std::span<Point> points, int64_t width, int64_t height) {
  const bool shares =
      std::ranges::all_of(points, [](const Point& one) { return one.x <= 1 && one.y <= 1; });
  if (!shares) return;
  for (Point& one : points) {
    one = {one.x * static_cast<float>(width), one.y * static_cast<float>(height)};
  }
}

}  // namespace

Point foot(const detect::Box& box) { return {(box.left + box.right) / 2, box.bottom}; }

// Edges that the ray to the right of the point crosses; an edge has its upper end, not its lower.
bool contains(const Zone& zone, const Point& point) {
  bool inside = false;
  for (size_t i = 0; i < zone.corners.size(); ++i) {
    const Point& a = zone.corners[i];
    const Point& b = zone.corners[(i + 1) % zone.corners.size()];
    if ((a.y <= point.y) == (b.y <= point.y)) continue;
    const bool downwards = a.y < b.y;
    if (is_right(a, b, point) == downwards) inside = !inside;
  }
  return inside;
}

int crossing(const Line& line, const Point& p, const Point& q) {
  const bool before = is_right(line.from, line.to, p), after = is_right(line.from, line.to, q);
  if (before == after) return 0;
  // The same for the way back, where the path touches an end of the line.
  const bool ordered = p.x < q.x || (p.x == q.x && p.y < q.y);
  const Point& low = ordered ? p : q;
  const Point& high = ordered ? q : p;
  if (is_right(low, high, line.from) == is_right(low, high, line.to)) return 0;
  return after ? 1 : -1;
}

Result<Zone> parse_zone(std::string_view text) {
  constexpr std::string_view kWhat = "zone: NAME=x,y,x,y,x,y";
  SHOAL_ASSIGN(NamedPoints named, parse(text, kWhat));
  if (named.points.size() < 3) {
    return invalid(std::string(text) + " has fewer than three corners");
  }
  return Zone{std::move(named.name), std::move(named.points)};
}

Result<Line> parse_line(std::string_view text) {
  constexpr std::string_view kWhat = "line: NAME=x1,y1,x2,y2";
  SHOAL_ASSIGN(const NamedPoints named, parse(text, kWhat));
  if (named.points.size() != 2 || named.points[0] == named.points[1]) {
    return invalid(std::string(text) + " has not two ends");
  }
  return Line{named.name, named.points[0], named.points[1]};
}

Zone in_pixels(const Zone& zone, int64_t width, int64_t height) {
  Zone scaled = zone;
  to_pixels(scaled.corners, width, height);
  return scaled;
}

Line in_pixels(const Line& line, int64_t width, int64_t height) {
  std::vector<Point> ends = {line.from, line.to};
  to_pixels(ends, width, height);
  return {line.name, ends[0], ends[1]};
}

}  // namespace shoal::watch

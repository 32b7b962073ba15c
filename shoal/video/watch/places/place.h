// Places in an image: zones, which are polygons, and lines; what is in a zone, and what goes across
// a line.
//
// With side(A, B; P) = the sign of (B - A) x (P - A), where 0 counts as +, a path from P to Q
// crosses the line from A to B if P and Q are on different sides of the line, and A and B on
// different sides of the path. It goes forwards from - to +: with y pointing down, from the left to
// the right as seen from A towards B.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// A polygon; the last corner is joined to the first.
struct Zone {
  std::string name;
  std::vector<detect::Point> corners = {};  // at least three
};

// From one point to another.
struct Line {
  std::string name;
  detect::Point from = {}, to = {};
};

// Where an object stands: the middle of the lower edge of its box.
detect::Point foot(const detect::Box& box);

// Whether a point is in a zone: a ray from it crosses an odd number of edges. Pure.
bool contains(const Zone& zone, const detect::Point& point);

// What a path from p to q does to a line: 1 if it crosses it forwards, -1 backwards, 0 if not.
// Pure.
int crossing(const Line& line, const detect::Point& p, const detect::Point& q);

// "NAME=x,y,x,y,x,y" and "NAME=x,y,x,y". kInvalidArgument for what is none: too few numbers, or
// some that are negative, infinite or missing; a name that is empty or has other characters than
// letters, digits, - and _.
Result<Zone> parse_zone(std::string_view text);
Result<Line> parse_line(std::string_view text);

// The same place in pixels of an image of this size: coordinates that are all at most 1 are shares
// of the image, others are pixels already.
Zone in_pixels(const Zone& zone, int64_t width, int64_t height);
Line in_pixels(const Line& line, int64_t width, int64_t height);

}  // namespace shoal::watch

#pragma GCC visibility pop

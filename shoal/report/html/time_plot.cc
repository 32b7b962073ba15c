// Plots over time: curves, parts of a whole, and presence.
#include <algorithm>
#include <cmath>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/legend.h"
#include "shoal/report/html/page.h"

namespace shoal::page {
namespace {

constexpr double kWidth = 340, kHeight = 190, kLeft = 54, kTop = 12, kBottom = 40, kRight = 16;

std::string number(double x) { return fixed(x, 1); }

// Seconds as people say them.
struct TimeUnit {
  double seconds = 1;
  const char* name = "s";
};
TimeUnit unit_for(double seconds) {
  if (seconds >= 3 * 3600) return {3600, "h"};
  if (seconds >= 3 * 60) return {60, "min"};
  return seconds >= 1 ? TimeUnit{} : TimeUnit{1e-3, "ms"};
}

// A loss that has grown beyond all bounds, or is no number, would leave nothing of the others.
constexpr double kMost = 1e9;
bool is_drawn(double value) { return std::abs(value) <= kMost; }

// As many digits as tell the lines of a scale apart.
std::string label_of(double value, double step) {
  if (step >= 1000) return with_commas(std::llround(value));
  return fixed(value, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
}

// A frame with lines, and where numbers are in it. Text is below and to the left.
class Frame {
 public:
  // REQUIRES: low < high, seconds > 0.
  Frame(double low, double high, double seconds, double left = kLeft, double height = kHeight)
      : low_(low), high_(high), seconds_(seconds), left_(left), height_(height) {}

  double x(double seconds) const { return left_ + kWidth * seconds / seconds_; }
  double y(double value) const { return kTop + height_ * (high_ - value) / (high_ - low_); }
  double left() const { return left_; }
  double width() const { return left_ + kWidth + kRight; }
  double bottom() const { return kTop + height_; }
  double height() const { return bottom() + kBottom; }

  std::string lines_of_values(double step) const {
    std::string text;
    const int count = static_cast<int>(std::lround((high_ - low_) / step));
    for (int i = 0; i <= count; ++i) {
      const double value = low_ + step * i;
      text += "<path class=\"grid\" d=\"M" + number(left_) + " " + number(y(value)) + "H" +
              number(left_ + kWidth) + "\"/>\n" +
              svg_text(left_ - 6, y(value) + 4, label_of(value, step),
                       " class=\"soft\" text-anchor=\"end\"");
    }
    return text;
  }

  std::string lines_of_time() const {
    const TimeUnit unit = unit_for(seconds_);
    const double length = seconds_ / unit.seconds, step = scale_step(length);
    std::string text;
    for (int i = 0; step * i <= length * (1 + 1e-9); ++i) {
      const double at = x(step * i * unit.seconds);
      text += "<path class=\"grid\" d=\"M" + number(at) + " " + number(kTop) + "V" +
              number(bottom() + 4) + "\"/>\n" +
              svg_text(at, bottom() + 18, label_of(step * i, step),
                       " class=\"soft\" text-anchor=\"middle\"");
    }
    return text + svg_text(left_ + kWidth, bottom() + 34, std::string("time, ") + unit.name,
                           " class=\"soft\" text-anchor=\"end\"");
  }

 private:
  double low_, high_, seconds_, left_, height_;
};

double last_moment(std::span<const TimeCurve> curves) {
  double last = 1e-6;
  for (const TimeCurve& curve : curves) last = std::max(last, curve.seconds.back());
  return last;
}

std::string in_plot(std::string_view title, const Frame& frame, const std::string& inside,
                    const std::vector<std::string>& names) {
  const std::string named =
      inside + svg_text(frame.left(), frame.bottom() + 34, title, " class=\"soft\"");
  return "<div class=\"time\">\n" + picture(title, frame.width(), frame.height(), named) +
         legend(names) + "</div>\n";
}

std::vector<std::string> names_of(std::span<const TimeCurve> curves) {
  std::vector<std::string> names;
  for (const TimeCurve& curve : curves) names.push_back(curve.name);
  return names;
}

}  // namespace

double scale_step(double length) {
  const double fifth = length / 5, power = std::pow(10, std::floor(std::log10(fifth)));
  return fifth > 5 * power ? 5 * power : fifth > 2 * power ? 2 * power : power;
}

std::string time_plot(std::string_view title, std::span<const TimeCurve> curves, Scale scale) {
  double low = kMost, high = -kMost;
  for (const TimeCurve& curve : curves) {
    for (const double value : curve.values) {
      if (!is_drawn(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) low = high = 0;
  if (scale == Scale::kFromZero) low = 0;
  if (high - low < 1e-9) high = low + 1;
  const double step = scale_step(2 * (high - low));  // half as many lines as time has
  const Frame frame(step * std::floor(low / step), step * std::ceil(high / step),
                    last_moment(curves));
  std::string inside = frame.lines_of_values(step) + frame.lines_of_time();
  for (size_t c = 0; c < curves.size(); ++c) {
    std::string points;
    for (size_t i = 0; i < curves[c].values.size(); ++i) {
      if (!is_drawn(curves[c].values[i])) continue;
      points +=
          number(frame.x(curves[c].seconds[i])) + "," + number(frame.y(curves[c].values[i])) + " ";
    }
    inside += "<polyline class=\"s" + std::to_string(c + 1) +
              "\" stroke-width=\"2\" stroke-linejoin=\"round\" points=\"" + points + "\"/>\n";
  }
  return in_plot(title, frame, inside, names_of(curves));
}

std::string share_plot(std::string_view title, std::span<const TimeCurve> curves) {
  const Frame frame(0, 1, last_moment(curves));
  const std::vector<double>& seconds = curves[0].seconds;
  std::vector<double> below(seconds.size(), 0.0);
  std::string inside = frame.lines_of_values(0.2) + frame.lines_of_time();
  for (size_t c = 0; c < curves.size(); ++c) {
    // A share is that of the time before its moment: steps, not slopes.
    std::string there, back;
    for (size_t i = 0; i < seconds.size(); ++i) {
      const double from = frame.x(i == 0 ? 0 : seconds[i - 1]), to = frame.x(seconds[i]);
      const double low = frame.y(below[i]);
      below[i] += curves[c].values[i];
      const double high = frame.y(below[i]);
      there += number(from) + "," + number(high) + " " + number(to) + "," + number(high) + " ";
      back = number(to) + "," + number(low) + " " + number(from) + "," + number(low) + " " + back;
    }
    inside +=
        "<polygon class=\"f" + std::to_string(c % 8 + 1) + "\" points=\"" + there + back + "\"/>\n";
  }
  return in_plot(title, frame, inside, names_of(curves));
}

std::string presence_plot(std::string_view title, std::span<const Presence> all, double seconds) {
  constexpr double kLane = 26, kNames = 120;
  const double end = std::max(seconds, 1e-6);
  const Frame frame(0, 1, end, kNames, kLane * static_cast<double>(all.size()));
  std::string inside = frame.lines_of_time();
  double top = kTop;
  for (size_t i = 0; i < all.size(); ++i, top += kLane) {
    inside += svg_text(kNames - 8, top + 17, all[i].name, " text-anchor=\"end\"") +
              svg_bar(frame.x(0), top + 10, kWidth, 6, "track");
    for (const auto& [from, to] : all[i].spans) {
      inside += svg_bar(frame.x(from), top + 5, std::max(frame.x(to) - frame.x(from), 0.5), 16,
                        "f" + std::to_string(i % 8 + 1),
                        all[i].name + ": from " + in_seconds(from) + " to " + in_seconds(to));
    }
  }
  return in_plot(title, frame, inside, {});
}

}  // namespace shoal::page

#include "shoal/report/html/page.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/assets.h"
#include "shoal/report/html/legend.h"
#include "shoal/report/html/markup.h"

namespace shoal::page {
namespace {

std::string number(double x) { return fixed(x, 1); }

std::string size_of(double width, double height) {
  return " width=\"" + number(width) + "\" height=\"" + number(height) + "\" viewBox=\"0 0 " +
         number(width) + " " + number(height) + "\"";
}

// Keys scroll what has the focus.
std::string scrolling(std::string_view label, const std::string& inside) {
  return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + escaped(label) +
         "\">" + inside + "</div>\n";
}

std::string row_of(const std::vector<std::string>& cells, const std::string& begin,
                   const std::string& end) {
  std::string text = "<tr>";
  for (const std::string& one : cells) text += begin + escaped(one) + end;
  return text + "</tr>\n";
}

struct Range {
  double low, high;
};

Range range_of(std::span<const Curve> curves) {
  Range range{curves[0].points[0], curves[0].points[0]};
  for (const Curve& curve : curves) {
    for (double y : curve.points) {
      range.low = std::min(range.low, y);
      range.high = std::max(range.high, y);
    }
  }
  if (range.high - range.low < 1e-9) range.high = range.low + 1;
  return range;
}

// Of plots.
constexpr double kWidth = 460, kHeight = 240, kLeft = 50, kTop = 12, kBottom = 30;

std::string polyline(const Curve& curve, const Range& range, size_t colour) {
  const auto last = static_cast<double>(std::max<size_t>(curve.points.size() - 1, 1));
  std::string points;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const double x = kLeft + kWidth * static_cast<double>(i) / last;
    const double y = kTop + kHeight * (range.high - curve.points[i]) / (range.high - range.low);
    points += number(x) + "," + number(y) + " ";
  }
  return "<polyline class=\"s" + std::to_string(colour) + "\" stroke-width=\"2\" points=\"" +
         points + "\"/>\n";
}

}  // namespace

std::string legend(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = "<ul class=\"legend\">";
  for (size_t i = 0; i < names.size(); ++i) {
    text += "<li><svg viewBox=\"0 0 8 8\" aria-hidden=\"true\"><circle class=\"f" +
            std::to_string(i % 8 + 1) + "\" cx=\"4\" cy=\"4\" r=\"4\"/></svg>" + escaped(names[i]) +
            "</li>";
  }
  return text + "</ul>\n";
}

// The policy lets nothing in, in case a name that came from a file was not escaped somewhere.
std::string html_page(std::string_view title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n<title>" +
         escaped(title) + "</title>\n<style>\n" + style() +
         "</style>\n</head>\n<body>\n<main>\n<h1>" + escaped(title) + "</h1>\n" + body +
         "</main>\n</body>\n</html>\n";
}

std::string card(std::string_view title, const std::string& body) {
  return "<section class=\"card\">\n<h2>" + escaped(title) + "</h2>\n" + body + "</section>\n";
}

std::string figures(const std::vector<Figure>& all) {
  std::string text = "<dl class=\"figures\">\n";
  for (const Figure& one : all) {
    text += "<div class=\"figure\"><dt>" + escaped(one.name) + "</dt><dd>" + escaped(one.value) +
            (one.unit.empty() ? "" : " <small>" + escaped(one.unit) + "</small>") + "</dd></div>\n";
  }
  return text + "</dl>\n";
}

std::string preformatted(std::string_view text) {
  return "<pre tabindex=\"0\">" + escaped(text) + "</pre>\n";
}

std::string table(std::string_view label, const std::string& rows, std::string_view style) {
  return scrolling(label, "<table class=\"" + std::string(style) + "\">\n" + rows + "</table>");
}

std::string header_row(const std::vector<std::string>& cells) {
  return row_of(cells, "<th scope=\"col\">", "</th>");
}

std::string row(const std::vector<std::string>& cells) { return row_of(cells, "<td>", "</td>"); }

std::string heat_cell(std::string_view text, double share, Heat heat) {
  return std::string("<td class=\"heat ") + (heat == Heat::kGood ? "good" : "bad") +
         "\" style=\"--share:" + fixed(std::clamp(share, 0.0, 1.0), 2) + "\">" + escaped(text) +
         "</td>";
}

std::string picture(std::string_view label, double width, double height,
                    const std::string& inside) {
  return scrolling(label, "<svg role=\"img\" aria-label=\"" + escaped(label) + "\"" +
                              size_of(width, height) + ">\n" + inside + "</svg>");
}

std::string picture_file(double width, double height, const std::string& inside) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size_of(width, height) + ">\n<style>\n" +
         std::string(colours()) +
         "</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n" + inside +
         "</svg>\n";
}

std::string svg_text(double x, double y, std::string_view text, std::string_view more) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + std::string(more) + ">" +
         escaped(text) + "</text>\n";
}

std::string svg_bar(double x, double y, double width, double height, std::string_view colour,
                    std::string_view title) {
  const std::string bar = "<rect class=\"" + std::string(colour) + "\" rx=\"2\" x=\"" +
                          fixed(x, 2) + "\" y=\"" + fixed(y, 2) + "\" width=\"" + fixed(width, 2) +
                          "\" height=\"" + fixed(height, 2) + "\"";
  return title.empty() ? bar + "/>\n" : bar + "><title>" + escaped(title) + "</title></rect>\n";
}

std::string plot(std::string_view title, std::string_view steps, std::span<const Curve> curves) {
  const Range range = range_of(curves);
  std::string inside;
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double y = kTop + kHeight * i / kLines;
    const double value = range.high - (range.high - range.low) * i / kLines;
    inside += "<path class=\"grid\" d=\"M" + number(kLeft) + " " + number(y) + "H" +
              number(kLeft + kWidth) + "\"/>\n" +
              svg_text(kLeft - 6, y + 4, fixed(value, 3), " class=\"soft\" text-anchor=\"end\"");
  }
  std::vector<std::string> names;
  for (const Curve& curve : curves) {
    names.push_back(curve.name);
    inside += polyline(curve, range, names.size());
  }
  const std::string caption = std::string(title) + ", " + std::string(steps) + " 1 to " +
                              std::to_string(curves[0].points.size());
  inside += svg_text(kLeft, kTop + kHeight + 20, caption, " class=\"soft\"");
  return "<div>\n" + picture(caption, kLeft + kWidth + 20, kTop + kHeight + kBottom, inside) +
         legend(names) + "</div>\n";
}

std::string front_picture(const std::vector<CostPoint>& points, std::string_view unit) {
  constexpr double kAcross = 480, kUp = 240, kMargin = 50;
  double most = 1e-9, low = 100, high = 0;
  for (const CostPoint& one : points) {
    most = std::max(most, one.cost);
    low = std::min(low, one.top1);
    high = std::max(high, one.top1);
  }
  const double span = std::max(high - low, 0.01);
  std::string inside = "<path class=\"grid\" d=\"M" + number(kMargin) + " 10V" + number(kUp + 10) +
                       "H" + number(kMargin + kAcross) + "\"/>\n";
  for (const CostPoint& one : points) {
    inside += "<circle r=\"5.5\" cx=\"" + number(kMargin + kAcross * one.cost / most) + "\" cy=\"" +
              number(20 + (kUp - 20) * (high - one.top1) / span) + "\" class=\"" +
              (one.on_front ? "f1" : "f2") + "\"><title>" + escaped(one.name) +
              (one.name.empty() ? "" : ": ") + fixed(one.top1, 2) + " %, " + fixed(one.cost, 4) +
              "</title></circle>\n";
  }
  constexpr std::string_view kSoft = " class=\"soft\"";
  inside += svg_text(kMargin, kUp + 26, "0", kSoft) +
            svg_text(kMargin + kAcross, kUp + 26, fixed(most, 3) + " " + std::string(unit),
                     " class=\"soft\" text-anchor=\"end\"") +
            svg_text(2, 24, fixed(high, 2), kSoft) + svg_text(2, kUp + 4, fixed(low, 2), kSoft);
  return picture("Accuracy by cost", kMargin + kAcross + 20, kUp + 34, inside) +
         legend({"on the front", "others"});
}

}  // namespace shoal::page

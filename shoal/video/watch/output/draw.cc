#include "shoal/video/watch/output/draw.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "shoal/base/text/number_text.h"

namespace shoal::watch {
namespace {

using detect::Point;

struct Glyph {
  char letter;
  std::array<uint8_t, 7> rows;
};

constexpr auto kFont = std::to_array<Glyph>({
#include "shoal/video/watch/output/font.inc"
});
constexpr int64_t kCellWidth = 6, kCellHeight = 9, kGlyphWidth = 5;

const Glyph& glyph_of(char letter) {
  if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  const auto position = std::ranges::find(kFont, letter, &Glyph::letter);
  return position != kFont.end() ? *position : *std::ranges::find(kFont, '?', &Glyph::letter);
}

// The part of a rectangle that is in the image. Edges are those of pixels, the last excluded.
void fill(Tensor& image, int64_t left, int64_t top, int64_t right, int64_t bottom,
          const Colour& colour) {
  const int64_t height = image.shape()[0], width = image.shape()[1];
  left = std::clamp<int64_t>(left, 0, width);
  right = std::clamp<int64_t>(right, 0, width);
  const auto pixels = image.data<uint8_t>();
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min(bottom, height); ++y) {
    for (int64_t x = left; x < right; ++x) {
      std::ranges::copy(colour, pixels.begin() + 3 * (y * width + x));
    }
  }
}

// Of any number, near the image at least.
int64_t pixel(float x) {
  constexpr float kFar = 1 << 20;
  return std::lround(std::clamp(x, -kFar, kFar));
}

bool is_number(const Point& point) { return !std::isnan(point.x) && !std::isnan(point.y); }

Colour on(const Colour& ground) {
  const int light = 2 * ground[0] + 5 * ground[1] + ground[2];
  return light > 8 * 128 ? Colour{0, 0, 0} : Colour{255, 255, 255};
}

std::string caption_of(const Seen& seen, const Annotation& what) {
  const int64_t label = seen.detection.label;
  std::string text = what.class_name ? what.class_name(label) : std::to_string(label);
  if (seen.id > 0) text += " #" + std::to_string(seen.id);
  return text + " " + fixed(static_cast<double>(seen.detection.score), 2);
}

}  // namespace

// Steps of the golden ratio on the circle of hues.
Colour colour_of(int64_t number) {
  constexpr double kRatio = 0.6180339887498949;
  const double hue = 6 * std::fmod(static_cast<double>(number % 1000000) * kRatio + 1, 1.0);
  const auto part = [&](double shift) {
    const double at = std::fmod(hue + shift + 6, 6.0);
    return static_cast<uint8_t>(255 * std::clamp(std::abs(at - 3) - 1, 0.0, 1.0));
  };
  return {part(0), part(-2), part(2)};
}

void draw_line(Tensor& image, const Point& from, const Point& to, const Colour& colour) {
  if (!is_number(from) || !is_number(to)) return;
  const int64_t x = pixel(from.x), y = pixel(from.y), dx = pixel(to.x) - x, dy = pixel(to.y) - y;
  const int64_t steps = std::max<int64_t>(std::max(std::abs(dx), std::abs(dy)), 1);
  for (int64_t i = 0; i <= steps; ++i) {
    const int64_t at_x = x + dx * i / steps, at_y = y + dy * i / steps;
    fill(image, at_x, at_y, at_x + 2, at_y + 2, colour);
  }
}

void draw_box(Tensor& image, const detect::Box& box, const Colour& colour) {
  if (!(box.right > box.left && box.bottom > box.top)) return;
  const int64_t left = pixel(box.left), top = pixel(box.top);
  const int64_t right = pixel(box.right), bottom = pixel(box.bottom);
  constexpr int64_t kWide = 2;
  fill(image, left, top, right, std::min(top + kWide, bottom), colour);
  fill(image, left, std::max(bottom - kWide, top), right, bottom, colour);
  fill(image, left, top, std::min(left + kWide, right), bottom, colour);
  fill(image, std::max(right - kWide, left), top, right, bottom, colour);
}

void draw_text(Tensor& image, int64_t left, int64_t top, std::string_view text, int64_t scale,
               const Colour& colour) {
  const auto letters = static_cast<int64_t>(text.size());
  fill(image, left, top, left + (letters * kCellWidth + 1) * scale, top + kCellHeight * scale,
       colour);
  const Colour ink = on(colour);
  for (const char letter : text) {
    const Glyph& glyph = glyph_of(letter);
    for (size_t row = 0; row < glyph.rows.size(); ++row) {
      for (int64_t column = 0; column < kGlyphWidth; ++column) {
        if ((glyph.rows[row] >> (kGlyphWidth - 1 - column) & 1) == 0) continue;
        const int64_t x = left + (column + 1) * scale;
        const int64_t y = top + (static_cast<int64_t>(row) + 1) * scale;
        fill(image, x, y, x + scale, y + scale, ink);
      }
    }
    left += kCellWidth * scale;
  }
}

Tensor annotate(const FrameAnswer& answer, const Annotation& what) {
  Tensor image = Tensor::uninitialized(answer.image.type());
  std::ranges::copy(answer.image.bytes(), image.bytes().begin());
  const int64_t height = image.shape()[0], width = image.shape()[1];
  const int64_t scale = std::max<int64_t>(height / 400, 1);
  for (size_t i = 0; i < what.zones.size(); ++i) {
    const Zone zone = in_pixels(what.zones[i], width, height);
    for (size_t c = 0; c < zone.corners.size(); ++c) {
      draw_line(image, zone.corners[c], zone.corners[(c + 1) % zone.corners.size()],
                colour_of(static_cast<int64_t>(i)));
    }
  }
  for (size_t i = 0; i < what.lines.size(); ++i) {
    const Line line = in_pixels(what.lines[i], width, height);
    draw_line(image, line.from, line.to, colour_of(static_cast<int64_t>(i)));
  }
  for (const Seen& seen : answer.seen) {
    const detect::Box& box = seen.detection.box;
    const Colour colour = colour_of(seen.id > 0 ? seen.id : seen.detection.label);
    draw_box(image, box, colour);
    if (!is_number({box.left, box.top})) continue;
    const int64_t above = pixel(box.top) - kCellHeight * scale;
    draw_text(image, pixel(box.left), std::max<int64_t>(above, 0), caption_of(seen, what), scale,
              colour);
  }
  return image;
}

}  // namespace shoal::watch

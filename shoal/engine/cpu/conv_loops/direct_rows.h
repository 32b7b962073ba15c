// DirectRows: the rows of an image as a direct convolution in the blocked layout reads them, and
// their partition among threads. Rows are read in place, or, if there is padding or few channels,
// from a copy that each thread makes of the rows it works on. A copy with padding around it lets
// the innermost loop run without conditions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shoal/base/round_up.h"
#include "shoal/model/ops/conv/conv.h"

namespace shoal::cpu {

template <class T>
struct PlainCopier {
  int64_t pixel;  // elements of one in the copy

  void copy(const T* from, int64_t n, T* to) const { std::copy_n(from, n, to); }
  void interleave(const T* from, int64_t plane, int64_t planes, int64_t pixels, T* to) const {
    for (int64_t c = 0; c < planes; ++c) {
      for (int64_t i = 0; i < pixels; ++i) to[i * pixel + c] = from[c * plane + i];
    }
  }
};

template <class T>
class DirectRows {
 public:
  // `pixel` elements of the image lie together, for all `channels` in blocks. If the image is not
  // blocked, channels lie in planes, and the copy interleaves them. `must_copy` forces a copy, for
  // bytes that change on the way.
  DirectRows(const ops::Convolution& conv, int64_t channels, int64_t pixel, bool is_blocked,
             bool must_copy)
      : rows_(conv.window.axes[1]),
        columns_(conv.window.axes[2]),
        channels_(channels),
        pixel_(pixel),
        blocks_(ceil_div(channels, pixel)),
        is_blocked_(is_blocked),
        copies_(must_copy || !is_blocked || is_padded(rows_) || is_padded(columns_)),
        flat_(!copies_ && is_pointwise(rows_) && is_pointwise(columns_)),
        row_length_(flat_ ? rows_.output * columns_.output : columns_.output) {}

  // Partitions the work on `images` images: the lines of each, by `panels` panels of weights. A
  // chunk of lines has about `most` elements of the image, so that it stays in a cache. If there
  // are fewer chunks than threads can use, the work on each is cut into parts, which copy the same
  // rows.
  void share(int64_t images, int64_t panels, int64_t tile_pixels, int64_t most, int threads) {
    tile_pixels_ = tile_pixels;
    panels_ = panels;
    const int64_t line = blocks_ * pixel_ * (flat_ ? tile_pixels : width() * rows_.stride);
    const int64_t lines_of_most = std::clamp<int64_t>(most / line, 1, lines());
    chunks_ = ceil_div(lines(), lines_of_most);
    chunk_ = ceil_div(lines(), chunks_);
    chunks_ = ceil_div(lines(), chunk_);
    constexpr int64_t kPartsPerThread = 4;
    const int64_t wanted = threads == 1 ? 1 : kPartsPerThread * threads;
    parts_ = std::clamp<int64_t>(ceil_div(wanted, images * chunks_), 1, chunk_ * panels);
  }

  int64_t parts_of_image() const { return chunks_ * parts_; }
  int64_t row_length() const { return row_length_; }  // pixels of the output
  int64_t step() const { return columns_.stride * pixel_; }
  int64_t copied_elements() const { return copies_ ? blocks_ * block_elements() : 0; }

  // Distances in elements between what tiles read.
  int64_t block_elements() const { return width() * height() * pixel_; }
  int64_t tap_row() const { return rows_.dilation * width() * pixel_; }
  int64_t tap_column() const { return columns_.dilation * pixel_; }

  // Calls f(panel, x of the row's first pixel, row of the output, first pixel, end) for everything
  // in one part of an image, panel by panel, so that the weights of a panel are used for many
  // pixels. Rows that are copied go to `scratch`, with `padding` around them, by
  //   copier.copy(from, elements, to)
  //   copier.interleave(first plane, elements from one to the next, planes, pixels, to)
  // REQUIRES: share() was called, and `scratch` has copied_elements() for the calling thread.
  template <class Copier, class F>
  void for_each_row(const T* image, int64_t part, T padding, T* scratch, const Copier& copier,
                    const F& f) const {
    const int64_t begin = part / parts_ * chunk_, end = std::min(begin + chunk_, lines());
    if (copies_) copy_rows(image, begin, end, padding, scratch, copier);
    const T* first = copies_ ? scratch : flat_ ? image : image + begin * row_elements();
    const int64_t count = end - begin, units = count * panels_, index = part % parts_;
    const int64_t last = units * (index + 1) / parts_;
    for (int64_t unit = units * index / parts_; unit < last;) {
      const int64_t panel = unit / count, from = unit % count;
      const int64_t to = std::min(count, from + last - unit);
      unit += to - from;
      if (flat_) {
        const int64_t pixel_end = begin + to == lines() ? row_length_ : (begin + to) * tile_pixels_;
        f(panel, first, int64_t{0}, (begin + from) * tile_pixels_, pixel_end);
      } else {
        for (int64_t i = from; i < to; ++i) {
          f(panel, first + i * row_elements(), begin + i, int64_t{0}, row_length_);
        }
      }
    }
  }

 private:
  static bool is_padded(const ops::WindowAxis& axis) {
    return axis.pad_begin > 0 || axis.pad_end > 0;
  }
  static bool is_pointwise(const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1;
  }

  // Lines are the units of work: rows, or tiles of a flat image. The last tile may overlap the one
  // before, so both are one line: no two threads write the same pixel.
  int64_t lines() const {
    return flat_ ? std::max<int64_t>(row_length_ / tile_pixels_, 1) : rows_.output;
  }
  int64_t width() const {
    return copies_ ? (columns_.output - 1) * columns_.stride + columns_.extent() : columns_.input;
  }
  int64_t height() const { return copies_ ? rows_read(chunk_) : rows_.input; }
  int64_t rows_read(int64_t output_rows) const {
    return (output_rows - 1) * rows_.stride + rows_.extent();
  }
  int64_t row_elements() const { return rows_.stride * width() * pixel_; }  // per row of the output

  template <class Copier>
  void copy_rows(const T* x, int64_t begin, int64_t end, T padding, T* to,
                 const Copier& copier) const {
    const int64_t first = rows_.position(begin, 0), count = rows_read(end - begin);
    const int64_t plane = rows_.input * columns_.input;
    for (int64_t b = 0; b < blocks_; ++b) {
      T* line = to + b * block_elements();
      for (int64_t r = first; r < first + count; ++r, line += width() * pixel_) {
        if (r < 0 || r >= rows_.input) {
          std::fill_n(line, width() * pixel_, padding);
        } else if (is_blocked_) {
          copy_line(x + (b * plane + r * columns_.input) * pixel_, padding, line, copier);
        } else {
          interleave_line(x + r * columns_.input, plane, padding, line, copier);
        }
      }
    }
  }

  // Columns of the copy that the image has; the others are padding.
  ops::Range inner_columns() const {
    const int64_t begin = std::min(columns_.pad_begin, width());
    return {begin, std::min(columns_.pad_begin + columns_.input, width())};
  }

  template <class Copier>
  void copy_line(const T* x, T padding, T* to, const Copier& copier) const {
    const ops::Range inner = inner_columns();
    std::fill_n(to, inner.begin * pixel_, padding);
    copier.copy(x, inner.count() * pixel_, to + inner.begin * pixel_);
    std::fill_n(to + inner.end * pixel_, (width() - inner.end) * pixel_, padding);
  }

  template <class Copier>
  void interleave_line(const T* x, int64_t plane, T padding, T* to, const Copier& copier) const {
    const ops::Range inner = inner_columns();
    std::fill_n(to, width() * pixel_, padding);
    copier.interleave(x, plane, channels_, inner.count(), to + inner.begin * pixel_);
  }

  const ops::WindowAxis rows_, columns_;
  const int64_t channels_, pixel_, blocks_;
  const bool is_blocked_, copies_, flat_;
  const int64_t row_length_;
  int64_t tile_pixels_ = 1, panels_ = 1;
  int64_t chunk_ = 1, chunks_ = 1;  // lines in one, and how many there are
  int64_t parts_ = 1;               // of a chunk
};

}  // namespace shoal::cpu

// The rows of an image as a direct convolution over blocked channels (blocked.h) reads them: where
// they lie, or, if there is padding or few channels, from a copy that each thread makes of the rows
// it works on.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shoal/ops/conv.h"

namespace shoal::cpu {

template <class T>
class DirectRows {
 public:
  // `channels` of the image lie `pixel` together; where it is not blocked, they lie in planes and
  // the copy brings them together. `must_copy` even if nothing else asks for it.
  DirectRows(const ops::Convolution& conv, int64_t channels, int64_t pixel, bool is_blocked,
             bool must_copy)
      : rows_(conv.window.axes[1]),
        columns_(conv.window.axes[2]),
        channels_(channels),
        pixel_(pixel),
        blocks_((channels + pixel - 1) / pixel),
        is_blocked_(is_blocked),
        copies_(must_copy || !is_blocked || is_padded(rows_) || is_padded(columns_)),
        flat_(!copies_ && is_pointwise(rows_) && is_pointwise(columns_)),
        row_length_(flat_ ? rows_.output * columns_.output : columns_.output) {}

  // Cuts the output into chunks of rows, or of pixels where it is flat: `most` elements of the
  // image each, about, and a multiple of `unit` pixels.
  void choose_chunks(int64_t most, int64_t unit) {
    if (flat_) {
      chunk_ = std::max<int64_t>(most / (blocks_ * pixel_ * unit), 1) * unit;
      chunks_ = (row_length_ + chunk_ - 1) / chunk_;
    } else {
      const int64_t row = blocks_ * pixel_ * width() * rows_.stride;
      chunk_ = std::clamp<int64_t>(most / row, 1, rows_.output);
      chunks_ = (rows_.output + chunk_ - 1) / chunk_;
      chunk_ = (rows_.output + chunks_ - 1) / chunks_;
    }
  }

  int64_t chunks() const { return chunks_; }
  int64_t row_length() const { return row_length_; }  // pixels of the output
  int64_t step() const { return columns_.stride * pixel_; }
  int64_t copied_elements() const { return copies_ ? blocks_ * block_elements() : 0; }

  // Distances in what tiles read.
  int64_t block_elements() const { return width() * height() * pixel_; }
  int64_t tap_row() const { return rows_.dilation * width() * pixel_; }
  int64_t tap_column() const { return columns_.dilation * pixel_; }

  // Where the first row of a chunk begins: in the image, or in `scratch`, to which its rows are
  // copied with `padding` around them, by
  //   copier.copy(from, elements, to)
  //   copier.interleave(first plane, elements from one to the next, planes, pixels, to)
  template <class Copier>
  const T* prepare(const T* image, int64_t chunk, T padding, T* scratch,
                   const Copier& copier) const {
    if (flat_) return image;
    const int64_t begin = chunk * chunk_, end = std::min(begin + chunk_, rows_.output);
    if (!copies_) return image + begin * row_elements();
    copy_rows(image, begin, end, padding, scratch, copier);
    return scratch;
  }

  // Calls f(x of the row's first pixel, row of the output, first pixel, end) for the rows of a
  // chunk that prepare() said begins at `x`.
  template <class F>
  void for_each_row(const T* x, int64_t chunk, const F& f) const {
    const int64_t begin = chunk * chunk_;
    if (flat_) return f(x, int64_t{0}, begin, std::min(begin + chunk_, row_length_));
    const int64_t end = std::min(begin + chunk_, rows_.output);
    for (int64_t row = begin; row < end; ++row, x += row_elements()) {
      f(x, row, int64_t{0}, row_length_);
    }
  }

 private:
  static bool is_padded(const ops::WindowAxis& axis) {
    return axis.pad_begin > 0 || axis.pad_end > 0;
  }
  static bool is_pointwise(const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1;
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

  // Of the columns copied those that the image has.
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
  int64_t chunk_ = 1, chunks_ = 1;  // rows or pixels in one, and how many there are
};

}  // namespace shoal::cpu

#include "shoal/engine/systolic/array.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace shoal::systolic {
namespace {

constexpr int64_t kMostOfAnything = 1024, kMostWeights = int64_t{1} << 26;

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

size_t unsigned_of(int64_t n) { return static_cast<size_t>(n); }

// Where the sums of each stage begin. A stage of a tree halves the terms, one of a chain adds one.
std::vector<size_t> begin_of_stages(const ArrayOptions& options) {
  std::vector<size_t> begin = {0};
  size_t terms = unsigned_of(options.width);
  for (int64_t s = 0; s < count_stages(options); ++s) {
    terms = options.adder == Adder::kTree ? (terms + 1) / 2 : 1;
    begin.push_back(begin.back() + terms);
  }
  return begin;
}

}  // namespace

Status check(const ArrayOptions& options) {
  for (const int64_t size :
       {options.width, options.rows, options.buffers, options.bytes_per_cycle}) {
    if (size < 1 || size > kMostOfAnything) return invalid("sizes of an array are 1 to 1024");
  }
  if (options.width * options.rows * options.buffers <= kMostWeights) return {};
  return invalid("the array has more than 2^26 weights");
}

int64_t count_stages(const ArrayOptions& options) {
  return options.adder == Adder::kChain
             ? options.width
             : static_cast<int64_t>(std::bit_width(unsigned_of(options.width - 1)));
}

int64_t count_blocks(const ArrayOptions& options, const ProductSizes& sizes) {
  if (sizes.l == 0) return 0;
  return divided_up(sizes.k, options.width) * divided_up(sizes.m, options.rows);
}

int64_t count_cycles(const ArrayOptions& options, const ProductSizes& sizes, int64_t loads) {
  int64_t entering = 0;  // of all blocks of a row of blocks
  for (int64_t k = 0; k < sizes.k; k += options.width) {
    const int64_t bytes = std::min(options.width, sizes.k - k) * sizes.l;
    entering += std::max(sizes.l, divided_up(bytes, options.bytes_per_cycle));
  }
  return entering * divided_up(sizes.m, options.rows) +
         count_blocks(options, sizes) * (options.rows + count_stages(options)) +
         loads * options.rows;
}

Array::Array(const ArrayOptions& options)
    : options_(options),
      width_(unsigned_of(options.width)),
      rows_(unsigned_of(options.rows)),
      stages_(unsigned_of(count_stages(options))),
      buffers_(unsigned_of(options.buffers)),
      stage_begin_(begin_of_stages(options)),
      input_(width_),
      skew_(options.adder == Adder::kChain ? width_ * (width_ - 1) / 2 : 0),
      data_(rows_ * width_),
      adder_(rows_ * stage_begin_.back()),
      index_(rows_ * (1 + stages_), kNone) {
  for (Buffer& buffer : buffers_) buffer.weights.resize(rows_ * width_);
}

void Array::multiply(uint64_t operand, const ProductSizes& sizes,
                     std::span<const int16_t> stationary, std::span<const int16_t> stream_of_x,
                     std::span<int32_t> sums) {
  if (sizes.l == 0) return;
  int64_t index = 0;
  for (int64_t m = 0; m < sizes.m; m += options_.rows) {
    for (int64_t k = 0; k < sizes.k; k += options_.width) {
      const Block block{sizes,
                        m,
                        std::min(options_.rows, sizes.m - m),
                        std::min(options_.width, sizes.k - k),
                        stationary.data() + m * sizes.k + k,
                        stream_of_x.data() + k,
                        sums.data()};
      stream(block, find_or_load(operand, index++, block));
    }
  }
}

const Array::Buffer& Array::find_or_load(uint64_t operand, int64_t index, const Block& block) {
  auto match = std::ranges::find_if(buffers_, [&](const Buffer& buffer) {
    return buffer.operand == operand && buffer.block == index;
  });
  if (match == buffers_.end()) {
    match = std::ranges::min_element(buffers_, {}, &Buffer::last_use);
    load(block, *match);
    match->operand = operand;
    match->block = index;
  }
  match->last_use = ++uses_;
  return *match;
}

// The weights come down the columns as data does: the last row first.
void Array::load(const Block& block, Buffer& buffer) {
  std::vector<int16_t>& cells = buffer.weights;
  for (int64_t row = options_.rows - 1; row >= 0; --row) {
    std::copy_backward(cells.begin(), cells.end() - options_.width, cells.end());
    std::fill_n(cells.begin(), options_.width, int16_t{0});
    if (row < block.ms) std::copy_n(block.weights + row * block.sizes.k, block.ks, cells.begin());
    ++counts_.cycles;
  }
  ++counts_.loads;
}

// A column enters in each cycle, or as soon as memory has given its bytes.
void Array::stream(const Block& block, const Buffer& buffer) {
  int64_t next = 0, given = 0;
  for (bool is_done = false; !is_done;) {
    int64_t entering = kNone;
    given += options_.bytes_per_cycle;
    if (next < block.sizes.l && given >= block.ks) {
      given -= block.ks;
      counts_.streamed_bytes += block.ks;
      std::ranges::fill(input_, int16_t{0});
      std::copy_n(block.stream + next * block.sizes.k, block.ks, input_.begin());
      entering = next++;
    }
    is_done = clock(entering, block, buffer);
  }
}

// One cycle. Registers are written from the end of each pipeline to its beginning, so that every
// one reads what the one before it held in the cycle before. Returns whether the last sum is there.
bool Array::clock(int64_t entering, const Block& block, const Buffer& buffer) {
  ++counts_.cycles;
  bool is_done = false;
  for (size_t row = rows_; row-- > 0;) {
    int64_t* const index = index_.data() + row * (1 + stages_);
    is_done |= collect(row, block, buffer);
    for (size_t stage = stages_; stage-- > 0;) {
      if (index[stage] != kNone) add_stage(row, stage, buffer);
    }
    std::copy_backward(index, index + stages_, index + stages_ + 1);
    index[0] = row > 0 ? index_[(row - 1) * (1 + stages_)] : entering;
  }
  std::copy_backward(data_.begin(), data_.end() - options_.width, data_.end());
  enter();
  return is_done;
}

// The first row takes the input. A chain reaches column c after c cycles, so that its data waits.
void Array::enter() {
  std::ranges::copy(input_, data_.begin());
  if (options_.adder == Adder::kTree) return;
  auto line = skew_.begin();
  for (size_t column = 1; column < width_; ++column) {
    const auto end = line + static_cast<std::ptrdiff_t>(column);
    data_[column] = *(end - 1);
    std::copy_backward(line, end - 1, end);
    *line = input_[column];
    line = end;
  }
}

uint32_t Array::product(size_t row, size_t column, const Buffer& buffer) const {
  const size_t cell = row * width_ + column;
  return static_cast<uint32_t>(int32_t{data_[cell]} * int32_t{buffer.weights[cell]});
}

void Array::add_stage(size_t row, size_t stage, const Buffer& buffer) {
  uint32_t* const registers = adder_.data() + row * stage_begin_.back();
  if (options_.adder == Adder::kChain) {
    registers[stage] = (stage == 0 ? 0 : registers[stage - 1]) + product(row, stage, buffer);
    return;
  }
  uint32_t* const to = registers + stage_begin_[stage];
  const size_t sums = stage_begin_[stage + 1] - stage_begin_[stage];
  const uint32_t* const from = stage == 0 ? nullptr : registers + stage_begin_[stage - 1];
  const size_t terms = stage == 0 ? width_ : stage_begin_[stage] - stage_begin_[stage - 1];
  const auto term = [&](size_t i) { return from == nullptr ? product(row, i, buffer) : from[i]; };
  for (size_t i = 0; i < terms / 2; ++i) to[i] = term(2 * i) + term(2 * i + 1);
  if (terms % 2 != 0) to[sums - 1] = term(terms - 1);
}

// Adds the sum that leaves a row's adder to its place. Returns whether it is the last of the block.
bool Array::collect(size_t row, const Block& block, const Buffer& buffer) {
  const int64_t column = index_[row * (1 + stages_) + stages_];
  if (column == kNone) return false;
  const uint32_t sum =
      stages_ == 0 ? product(row, 0, buffer) : adder_[(row + 1) * stage_begin_.back() - 1];
  if (std::cmp_less(row, block.ms)) {
    int32_t& to = block.sums[column * block.sizes.m + block.first_m + static_cast<int64_t>(row)];
    to = static_cast<int32_t>(static_cast<uint32_t>(to) + sum);
  }
  return row + 1 == rows_ && column + 1 == block.sizes.l;
}

}  // namespace shoal::systolic

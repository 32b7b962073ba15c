// The sizes of an Attention and the layout of its heads, for its reference and its kernels.
#pragma once

#include <cstdint>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

struct AttentionSizes {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, depth = 0, width = 0;
  bool tokens_first = false;

  Shape scores() const { return {batch, heads, queries, keys}; }

  // The rows of a head in q, k, v or the output, which have `tokens` rows of `size` elements per
  // head: the offset of the first row, where `head` counts over all images, and the distance
  // between rows.
  int64_t begin(int64_t head, int64_t tokens, int64_t size) const {
    if (!tokens_first) return head * tokens * size;
    return (head / heads * tokens * heads + head % heads) * size;
  }
  int64_t step(int64_t size) const { return tokens_first ? heads * size : size; }
};

// REQUIRES: `infer` has accepted the shapes.
AttentionSizes attention_sizes(const Node& node, const Shape& q, const Shape& k, const Shape& v);

}  // namespace shoal::ops

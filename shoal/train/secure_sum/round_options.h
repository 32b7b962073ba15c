// RoundOptions: what server and clients of a round agree on before it begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shoal/base/status.h"

namespace shoal::secure_sum {

// Clients are numbered from 0.
struct RoundOptions {
  uint64_t round = 0;     // its number: keys of different rounds differ
  size_t clients = 0;     // that are invited
  size_t length = 0;      // elements of a vector
  int bits = 32;          // sums are exact modulo 2^bits, and so many bits of an element travel
  size_t neighbours = 0;  // that each client shares its secrets and masks with
  size_t threshold = 0;   // neighbours that reveal a secret together
};

// Refuses options (kInvalidArgument) with which a round cannot work or hides nothing. More than
// half of the neighbours must be needed: else a server could ask one half for the self mask of a
// client and the other for its pairwise masks.
Status check(const RoundOptions& options);

// The fewest neighbours with which these fail with a probability of 2^-20 and 2^-40 in all:
//   a third of the clients drops out, and the sum is still found;
//   a fifth of the clients tells the server all it knows, and no secret is found.
// Neighbours are drawn at random, so that both are tails of hypergeometric distributions (Bell et
// al. 2020, arXiv 2020/704, lemma 3.7). Few clients are all neighbours of each other. At most 254
// are neighbours, which is enough for both up to about 3,000 clients. REQUIRES: clients >= 3.
RoundOptions plan_round(size_t clients, size_t length, int bits = 32);

}  // namespace shoal::secure_sum

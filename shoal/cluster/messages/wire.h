// Wire: graphs and pieces as messages. A peer may send anything: all of it is checked as if it came
// from a file, and operators infer every type again.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {

namespace message {
class Graph;
class Piece;
class Failed;
class Message;
class Traced;
}  // namespace message

// The SHA-256 of a tensor's bytes, by which machines name it.
using Hash = std::string;  // 32 bytes
Hash hash_of(std::span<const std::byte> bytes);
inline constexpr size_t kHashBytes = 32;

// Constants of at most this size are part of the message.
inline constexpr size_t kInlineBytes = 1024;

// Writes the graph. `name_of` returns the name of each tensor that is sent separately: its hash,
// which a caller that writes many graphs should compute once.
using NameOf = std::function<Hash(const Tensor&)>;
void encode(const Graph& graph, message::Graph& to, const NameOf& name_of);

// `find` returns the tensor of a name, or an undefined one. kNotFound if a tensor is missing,
// kCorrupt if the message is not a graph.
using Find = std::function<Tensor(const Hash&, const TensorType&)>;
Result<Graph> decode(const message::Graph& from, const Find& find);

// The names of all tensors that the graph needs and does not contain. Checks their sizes.
Result<std::vector<Hash>> hashes_in(const message::Graph& from);

// Likewise to and from bytes.
std::string to_bytes(const Graph& graph, const NameOf& name_of);
Result<Graph> graph_from(std::string_view bytes, const Find& find);

void encode(const plan::Piece& piece, message::Piece& to);
// kCorrupt if the region is not a box. The caller checks that it lies in the value.
Result<plan::Piece> decode(const message::Piece& from);

}  // namespace shoal::cluster

// Graphs and pieces as messages. What comes from a peer is hostile: everything is checked as if it
// came from a file, and operators infer every type again.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {

namespace message {
class Graph;
class Piece;
class Failed;
class Message;
class Traced;
}  // namespace message

// The SHA-256 of a tensor's bytes: what it is called between machines.
using Hash = std::string;  // 32 bytes
Hash hash_of(std::span<const std::byte> bytes);
inline constexpr size_t kHashBytes = 32;

// Up to so many bytes a constant travels in the message itself.
inline constexpr size_t kInlineBytes = 1024;

// Writes the graph; `name_of` gives the name of every tensor that travels apart. Mostly its hash,
// but that takes a while: who writes many graphs asks for it once.
using NameOf = std::function<Hash(const Tensor&)>;
void encode(const Graph& graph, message::Graph& to, const NameOf& name_of);

// `find` gives the tensor of this name, or an undefined one where it is not there.
using Find = std::function<Tensor(const Hash&, const TensorType&)>;
Result<Graph> decode(const message::Graph& from, const Find& find);

// The names of all tensors that the graph needs from elsewhere, with their sizes checked.
Result<std::vector<Hash>> hashes_in(const message::Graph& from);

// The same from and to bytes.
std::string to_bytes(const Graph& graph, const NameOf& name_of);
Result<Graph> graph_from(std::string_view bytes, const Find& find);

void encode(const plan::Piece& piece, message::Piece& to);
// Only that the box is one; whether it lies in the value is for who knows the value.
Result<plan::Piece> decode(const message::Piece& from);

}  // namespace shoal::cluster

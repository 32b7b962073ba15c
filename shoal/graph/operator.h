// Operator: everything the rest of the system ever asks about one operator.
// Every field has a law, and tests/laws_test.cc holds every operator to all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

class Graph;
struct Node;
enum class ValueId : int32_t {};
inline constexpr ValueId kNoValue{-1};  // an optional input that is not given

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, Tensor>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

// What is known of a node's input before anything runs.
struct Operand {
  bool given = false;  // false: an optional input left out
  TensorType type;
  const Tensor* value = nullptr;  // the elements, where they are constant
};

// A node restricted to a part of its output: what it reads, halo included, what it then
// computes, and how the node differs there (a tile from the middle of an image has no padding).
struct Tile {
  std::vector<Region> inputs;  // one per input; of an input not given, anything
  Region output;               // contains the region asked for; Softmax must do a whole line
  Attributes attributes;
  std::map<size_t, Tensor> constants;  // inputs replaced: Slice has other bounds in a tile
};

// The most inputs or outputs of an operator that takes any number of them.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

struct Operator {
  // The ONNX name, and the file name in every room: "Softmax", softmax.cc. The meaning is that of
  // ONNX opset 17; onnx/ brings older and newer models to it. Our own operators say `expand`.
  std::string_view name;

  // How many inputs a node must have, and how many it may have at most.  asked by graph
  size_t min_inputs = 1;
  size_t max_inputs = 1;
  size_t max_outputs = 1;

  // Bit i: the elements of input i, not only its type, decide the types of the outputs.
  // Law: `infer` reads no other elements, except to refuse those that are wrong.
  //                                                                      asked by onnx, session
  uint32_t value_inputs = 0;
  bool reads_value(size_t input) const { return input < 32 && (value_inputs >> input & 1) != 0; }

  // Bit i: input i is measured, not learned, as BatchNormalization's mean and variance are: by
  // custom no parameters. It has no law, for no answer depends on it.    asked by inspect
  uint32_t statistic_inputs = 0;
  bool is_statistic(size_t input) const {
    return input < 32 && (statistic_inputs >> input & 1) != 0;
  }

  // Output types, one per node.outputs; refuses what `reference` could not do.
  // Law: they are the types `reference` fills.                           asked by graph, onnx
  Result<std::vector<TensorType>> (*infer)(const Node&, std::span<const Operand> inputs) = nullptr;

  // The meaning, in plain loops; inputs not given are undefined tensors. Outputs are allocated,
  // their elements arbitrary.  Law: every device agrees with it.         asked by tests, devices
  void (*reference)(const Node&, std::span<const Tensor> inputs,
                    std::span<Tensor> outputs) = nullptr;

  // A region of output 0; nothing if this node cannot be split there. Null: never splits.
  // Law: the tiles, computed apart and put together, are the whole.      asked by plan
  std::optional<Tile> (*split)(const Node&, std::span<const Operand> inputs,
                               const Region& output) = nullptr;

  // Law: f(a + b) = f(a) + f(b) in input 0, bias absent.                 asked by coding
  bool linear = false;

  // Output 0 may lie where input 0 lies, if they have the same number of bytes.
  // Law: sharing changes no element.                                     asked by device
  bool in_place = false;

  // Multiply-accumulates; null: none worth counting.                     asked by inspect, plan
  int64_t (*macs)(const Node&, std::span<const Operand> inputs,
                  std::span<const TensorType> outputs) = nullptr;

  // Our own operators as ONNX ones: appends to the graph what computes the node from `inputs`,
  // returns the outputs. Null: this is an ONNX operator.
  // Law: the expansion computes what `reference` does.                   asked by onnx export
  Result<std::vector<ValueId>> (*expand)(const Node&, std::span<const ValueId> inputs,
                                         Graph& graph) = nullptr;

  // What backpropagation adds for a node of `graph`: takes the gradients of its outputs (kNoValue:
  // nothing depends on that one), appends what computes those of its inputs and returns them
  // (kNoValue: zero, or of a kind that has none). Null: our own operators are differentiated by
  // their `expand`, others not at all.
  // Law: gradients agree with finite differences.                        asked by train
  Result<std::vector<ValueId>> (*gradient)(const Node&, std::span<const ValueId> outputs,
                                           Graph& graph) = nullptr;

  // Draws random numbers: never folded, never merged with an equal node. asked by passes
  bool random = false;
};

}  // namespace shoal

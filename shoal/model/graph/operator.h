// Operator: the record of one operator. It holds everything that the rest of the system asks about
// an operator. Nodes point to records; there is no enum of operators and no switch over them.
//
// Every field states its law: what must be true of an operator that makes the claim. tests/laws/
// holds every operator of ops/ to the laws of its claims, over random cases and on every device. A
// claim for which no case is drawn fails the test LawCases.CoverEveryClaim.
//
// Lifetime: records are constants of the program. Graphs keep pointers to them, so a record defined
// elsewhere must outlive every graph, executable and session that uses it.
//
// Thread safety: records do not change, and their functions depend on nothing but their arguments
// (except those of operators that say `random`), so any thread may call them at any time. None of
// them keeps a reference to an argument after it returned.
//
// Failure: `infer`, `expand` and `gradient` return what is wrong with a node. The other functions
// cannot fail. REQUIRES, for these: `infer` has accepted the node with inputs of the same types.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

class Graph;
struct Node;
// A value of a graph: its place in the order in which values were added.
enum class ValueId : int32_t {};
inline constexpr ValueId kNoValue{-1};  // an optional input that is not given

// The settings of a node besides its inputs, by name: strides, axes, paddings.
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, Tensor>;
// Attributes by name. A class, not an alias for the map, so that the code that copies it is
// compiled once: it took a third of the time to compile an operator.
class Attributes : public std::map<std::string, Attribute, std::less<>> {
 public:
  Attributes();
  Attributes(std::initializer_list<value_type> attributes);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();
};

// What is known about an input of a node before anything runs.
struct Operand {
  bool given = false;             // false: an optional input left out
  TensorType type;                // where it is given
  const Tensor* value = nullptr;  // the elements, if they are constant; owned by the caller
};

// A node restricted to a part of its output: the regions that it reads, halo included, the region
// that it then computes, and the attributes that differ there (a tile from the middle of an image
// has no padding).
struct Tile {
  std::vector<Region> inputs;  // one per input; ignored for an input not given
  Region output;               // contains the requested region; Softmax must do a whole line
  Attributes attributes;       // of the node in the tile
  std::map<size_t, Tensor> constants;  // inputs replaced: Slice has other bounds in a tile
};

// The indices that remain of a node's values when some are removed: for every axis at least one,
// ascending.
struct Remainder {
  using Axes = std::vector<std::vector<int64_t>>;
  std::vector<Axes> inputs;   // one per input; empty for an input not given
  std::vector<Axes> outputs;  // one per output
};

// A node's settings after a removal.
struct Settings {
  Attributes attributes;
  std::map<size_t, Tensor> constants;  // inputs replaced, or added after the last one
};

// The most inputs or outputs of an operator that takes any number of them.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

// A number that a function of one element takes besides the element. It is the value of an
// attribute, the only element of an input, or fixed.
struct ElementParameter {
  std::string_view attribute = {};  // its name; empty: not an attribute
  float value = 0;             // where the attribute or the input is left out, or if it is fixed
  size_t input = 0;            // 0: not an input
  std::string_view text = {};  // a text attribute gives 1 for this text, else 0

  // Whether it is the same for all nodes.
  constexpr bool is_fixed() const { return attribute.empty() && input == 0; }
};

// The function that an element-wise operator applies to one element.
struct Elementwise {
  // The number of inputs, from the first on, that are taken element by element; kAnyNumber: all of
  // them. The others are parameters. 0: the operator is not element-wise.
  // Law: if the elements of these inputs, stretched to the shape of the output, change places, the
  // elements of the output change places in the same way.               Asked by passes, cpu
  size_t operands = 0;

  // Finite elements give finite results, short of overflow.
  // Law: elements up to 1000 in magnitude do.                           Asked by cpu
  bool finite = false;

  // The function y = f(x, alpha, beta) of an operator with one operand and one result of its type;
  // null for other operators.
  // Law: applied to each element, it gives what `reference` does.        Asked by ops, passes, cpu
  float (*f32)(float x, float alpha, float beta) = nullptr;
  double (*f64)(double x, double alpha, double beta) = nullptr;
  std::array<ElementParameter, 2> parameters = {};  // alpha and beta

  // The function is min(max(x, alpha), beta), which kernels and integers have at no cost.
  // Law: it is.                                                         Asked by passes, cpu
  bool clamps = false;
};

// The record of one operator.
struct Operator {
  // The ONNX name, and the file name in every part: "Softmax", softmax.cc. The meaning is that of
  // ONNX opset 17; onnx/ brings older and newer models to it. Our own operators have `expand`.
  std::string_view name;

  // The least number of inputs of a node, and the most inputs and outputs.
  //                                                                     Asked by graph
  size_t min_inputs = 1;
  size_t max_inputs = 1;
  size_t max_outputs = 1;

  // Bit i: the elements of input i, not only its type, decide the types of the outputs.
  // Law: `infer` reads no other elements, except to refuse those that are wrong.
  //                                                                     Asked by onnx, session
  uint32_t value_inputs = 0;
  bool reads_value(size_t input) const { return input < 32 && (value_inputs >> input & 1) != 0; }

  // Bit i: input i is measured, not learned, as BatchNormalization's mean and variance are. Such
  // inputs are not counted as parameters. No law: no answer depends on it. Asked by inspect
  uint32_t statistic_inputs = 0;
  bool is_statistic(size_t input) const {
    return input < 32 && (statistic_inputs >> input & 1) != 0;
  }

  // The types of the outputs, one per node.outputs. Refuses every node that `reference` could not
  // compute: an accepted node is computed for any elements.
  // Law: they are the types that `reference` fills.                     Asked by graph, onnx
  Result<std::vector<TensorType>> (*infer)(const Node&, std::span<const Operand> inputs) = nullptr;

  // The meaning, in plain loops. Inputs not given are undefined tensors. Outputs are allocated by
  // the caller, their elements arbitrary.
  // Law: every device agrees with it.                                   Asked by tests, devices
  void (*reference)(const Node&, std::span<const Tensor> inputs,
                    std::span<Tensor> outputs) = nullptr;

  // The tile that computes a region of output 0; nullopt if this node cannot be split there. Null:
  // the operator can never be split. REQUIRES: the region is not empty.
  // Law: the tiles, computed apart and put together, are the whole.     Asked by plan
  std::optional<Tile> (*split)(const Node&, std::span<const Operand> inputs,
                               const Region& output) = nullptr;

  // The settings with which the node computes the remaining outputs from the remaining inputs;
  // nullopt if there are none. Null: the settings do not depend on indices and stay unchanged.
  // Law: if each index left of output 0 reads, by `split`, nothing that was removed, the node of
  // these settings computes what is left of the whole.                  Asked by compress
  std::optional<Settings> (*shrink)(const Node&, std::span<const Operand> inputs,
                                    const Remainder& left) = nullptr;

  // The function of one element, if the operator is element-wise.
  Elementwise elementwise = {};

  // Law: f(a + b) = f(a) + f(b) in input 0, bias absent.                Asked by plan
  bool linear = false;

  // Output 0 may lie where input 0 lies, if they have the same number of bytes.
  // Law: sharing changes no element.                                    Asked by device
  bool in_place = false;

  // Multiply-accumulates; null: none worth counting.                    Asked by inspect, plan
  int64_t (*macs)(const Node&, std::span<const Operand> inputs,
                  std::span<const TensorType> outputs) = nullptr;

  // The time of `reference` is bounded by the elements that it reads and writes, so that a node of
  // few elements may be computed while a model is read.
  // Law: `macs` does not exceed their number.                           Asked by onnx
  bool linear_time = false;

  // The elements of the inputs do not matter, only the types: Shape. `reference` may be given
  // tensors without elements.
  // Law: it computes the same without elements.                         Asked by onnx
  bool reads_types_only = false;

  // One of our own operators in terms of ONNX: appends to the graph what computes the node from
  // `inputs` and returns the outputs. Null: this is an ONNX operator.
  // Law: the expansion computes what `reference` does.                  Asked by onnx, train
  Result<std::vector<ValueId>> (*expand)(const Node&, std::span<const ValueId> inputs,
                                         Graph& graph) = nullptr;

  // The nodes that backpropagation adds for a node of `graph`: takes the gradients of its outputs
  // (kNoValue: nothing depends on that output), appends the nodes that compute the gradients of its
  // inputs and returns those (kNoValue: zero, or an input that has no gradient). Null: an operator
  // of our own is differentiated through its `expand`, any other has no gradient.
  // Law: gradients agree with finite differences.                       Asked by train
  Result<std::vector<ValueId>> (*gradient)(const Node&, std::span<const ValueId> outputs,
                                           Graph& graph) = nullptr;

  // Draws random numbers: never folded, never merged with an equal node. Asked by passes, onnx
  bool random = false;
};

}  // namespace shoal

#pragma GCC visibility pop
